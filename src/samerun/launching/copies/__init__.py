"""Copies of the user's folder that commands are run in."""
