"""The command line: one file per verb, found by folder. Nothing here is heavy to import."""
