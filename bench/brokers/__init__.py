"""Other brokers beside the engine, each with its own Java client: `make peers`.

    java/     a client for each kind of broker behind one interface, and the load on it
    jars      their jars, by Maven, compared with jars.sha256; and the compiled classes
    driver    a Java process that puts load on one broker
    node      a server process: started, killed, started again on its data
    rabbitmq  redis  nats  kafka  engine  artemis  rocketmq    how each is started and set
    systems   which of them are measured, under which settings
    speed     throughput, delay, many topics: in rounds
    crash     kill -9 under load, and what was lost; the active node of several
    features  what a client finds in each of them
    record    the one file that the lab shows

docs/peers.md says what is measured, how each is set, and what came out.
"""
