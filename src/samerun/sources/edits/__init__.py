"""Edits of the user's code that more than one source makes, or that take more than a few lines."""
