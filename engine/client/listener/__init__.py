"""Listener containers: the application is a function that is called with each record.

    ListenerContainer                    start, stop, kill; one thread for each consumer,
                                         that polls, calls the function, commits
        ack_mode                         decides what is committed when; sans-IO
        start_offset                     where an assigned partition begins
    application                          the settings of an application.yml

So does Spring Kafka (`@KafkaListener`), whose names and rules these are. Left out: batches as the
argument of a listener, nack, retries and other error handlers (an error of the listener stops the
container, as Spring's ContainerStoppingErrorHandler does), transactions, filters and converters.

tests/real/test_spring.py runs both side by side. One difference is meant: an acknowledgment that
comes after its partition went to another consumer is left out. Spring 2.7 commits it, and so the
group may go back.
"""
