"""Inside a run: hooks that write records, and change nothing else."""
