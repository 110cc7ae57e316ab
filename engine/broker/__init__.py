"""A broker: the shell around the core, on one asyncio loop.

    server      connections and frames          dispatch    which API is whose
    handlers/   one family of APIs a file       broker      the state that they share
    purgatory   where requests wait             process     from start to stop

    controlling, channels     being the controller: ZooKeeper asked, brokers told
    fetching, peer            following other brokers
    groups                    the coordinator's requests, records and deadlines
    syncing                   ISR changes on their way to ZooKeeper
    admin, configuring        wishes written to ZooKeeper; what changed there
    registration, leaving     coming into the cluster, and going in good order
    control, events           what a lab may do and see

What arrives is decided upon below (replication, controller, storage) and carried out here.
"""
