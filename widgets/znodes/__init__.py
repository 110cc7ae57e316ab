"""ZooKeeperTree: the znodes of Kafka, and their changes.

history   the changes in order, and the tree after each of them
words     the texts for paths, changes and stats
rows      the visible znodes: open ones, found ones, deleted ones
plan      where things stand
panel     one znode in full, or the watches of one session
scene     the whole picture
view      the widget
"""
