"""Records on their way to the disk."""
