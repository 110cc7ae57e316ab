"""Transactions in a simulated cluster: those who write and read, and what is in the logs."""
