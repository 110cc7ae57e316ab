"""AdminClient, with the methods of confluent-kafka's, over blocking requests.

client      AdminClient                          arguments   checks of the application's arguments
executor    its thread, and the futures          values      arguments and results
operations  from these values to requests, and back
operation   a request, the broker that serves it, and what its answer means
requests    topics, configurations, elections    group_requests  groups and their offsets
acl_requests, quota_requests                     what clients may do, and how much
scram_requests, security_values                  their credentials; the values of both
"""
