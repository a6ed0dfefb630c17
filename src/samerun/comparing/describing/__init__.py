"""The first difference of two runs, and what surrounds it."""
