"""AdminClient, of confluent-kafka's shape, over the blocking requests of changes.py and groups.py.

client    AdminClient: topics, configurations, elections, log directories
grouping  its other half, which is about consumer groups
work      what each of its errands does              errands   one thread, behind futures
values    what goes in and comes out
"""
