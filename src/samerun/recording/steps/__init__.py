"""Tier `steps`: what is recorded at each step of a training."""
