"""The controller: the one broker that decides who leads which partition.

    controller   becoming it, ceasing to be it      office      in it: which event, whose business
    term         one term's epoch and its writes    context     what it knows of the cluster
    partitions, replicas   two state machines       election    who may lead
    brokers, catalogue, leaders, deletion, reassignment         what happens, and what follows
    asks, events, requests                          ZooKeeper, whoever tells it something, brokers
    znodes, topics                                  every path and its JSON; names and placement

It decides from events, and returns questions to ZooKeeper and requests to brokers (sans-IO).
"""
