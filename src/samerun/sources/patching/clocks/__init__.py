"""Clocks as the user's code reads them: made up, or read by way of other modules."""
