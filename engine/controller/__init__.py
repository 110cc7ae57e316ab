"""The controller: the one broker that elects the leaders of partitions.

    controller               how a broker becomes the controller, and stops being it
    active_controller        its first steps, and the part that handles each event
    metadata_store           reads and writes; the writes are refused when its epoch is over
    context                  its copy of the state in ZooKeeper
    partition_state_machine, replica_state_machine      the states and their changes
    election                 the choice of a leader
    brokers, topic_changes, leaders, deletion, reassignment     its parts
    events, requests         its input, and its requests to the brokers

It takes events, and returns requests to ZooKeeper and to brokers (sans-IO). It belongs to ZooKeeper
mode; the election alone knows nothing of ZooKeeper.
"""
