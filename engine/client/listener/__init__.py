"""Listener containers: the application is a function that is called with each record.

    ListenerContainer                    start, stop, kill; one thread for each consumer
        listener_thread                  polls, calls the function, commits
            ack_mode                     decides what is committed when; sans-IO
            start_offset                 where an assigned partition begins
    application                          the settings of an application.yml

So does Spring Kafka (`@KafkaListener`), whose names and rules these are. Left out: batches as the
argument of a listener, nack, retries and other error handlers (an error of the listener stops the
container), transactions, filters and converters.
"""
