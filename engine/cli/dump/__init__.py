"""`dump-log`: the files of a partition as text; one module a kind of file, or of records."""
