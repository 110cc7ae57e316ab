"""Scripts with Kafka's names in a cluster's directory, and the servers that they start."""
