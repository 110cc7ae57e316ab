"""ZooKeeperTree: what Kafka keeps in ZooKeeper, as it changes.

history   the changes, one after another, and the tree that they make at any of them
words     what a path is for, what a change was, what a stat says
rows      which znodes are seen: what is open, what was looked for, what just went
plan      where things stand
panel     one znode in full, or one who watches
scene     the whole picture
view      the widget
"""
