"""Putting a source's own doings in the place of a function of Python, NumPy or torch."""
