"""MetadataLogView: the metadata of a cluster without ZooKeeper, record by record.

    view      the widget: its time, what is opened, folded and chosen
    scene     the whole picture
    panel     one record with its fields
    rows      which rows there are: records as they come, or folded by what they change
    history   the log at each moment
    words     what a record changes, in words

What ZooKeeperTree shows as a tree is a log here: the two stand beside each other on one clock.
"""
