"""The command line: one module a command, and `main`, which finds them and prints their errors."""
