"""The command line: one module a command, and `main` that finds them and tells their errors."""
