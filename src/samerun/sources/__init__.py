"""The catalogue: everything that can make two runs differ, one file each."""
