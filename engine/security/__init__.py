"""Who is at the other end of a connection, and what they may do.

    principals    User:alice, and the rules that make a name of a certificate's
    tls           certificates and keys in PEM -> the contexts of connections
    scram         SCRAM-SHA-256 and -512, both ends, and the credentials in ZooKeeper
    plain         PLAIN, both ends
    jaas          the line of sasl.jaas.config
    sasl_server   the broker's end of an authentication: which request may follow which
    sasl_client   the other end: of a client, or of another broker
    acls          access control lists
    authorizer    ... and the decisions by them

Only `tls` knows of files, and nothing here of sockets: tokens come in, tokens go out. The broker
and the clients connect them to the network.

Invariant: no exception, and no `repr`, of this package has a password or a key in its text.
"""
