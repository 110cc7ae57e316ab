"""TLS and SASL of a lab's cluster: its users, and the authority that signs its certificates."""
