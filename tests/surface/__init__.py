"""What others rely on: names, signatures, options, ids, exit codes, JSON, and runs recorded earlier."""
