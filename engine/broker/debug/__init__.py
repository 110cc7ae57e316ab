"""The debug server, through which labs read a broker's state and events, and cause faults."""
