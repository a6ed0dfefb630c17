"""Stands for samerun.recording."""
