"""Tier `ops`: what is recorded of each operation."""
