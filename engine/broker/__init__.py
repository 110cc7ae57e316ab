"""A broker: the shell around the core, on one asyncio loop.

    server      connections and frames          dispatch    which API is whose
    handlers/   one family of APIs a file       broker      the state that they share
    replicas    logs and roles                  purgatory   where requests wait
    controlling, admin, zookeeper               process     from start to stop

What arrives is decided upon below (replication, controller, storage) and carried out here.
"""
