"""What samerun.lock holds, and its text."""
