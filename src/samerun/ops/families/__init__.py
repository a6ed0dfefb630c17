"""The implementations: one file for each family of operations, found by folder."""
