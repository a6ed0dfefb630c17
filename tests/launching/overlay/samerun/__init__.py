"""Lies over the real package in child processes: what is not here comes from there."""

import os

__path__.append(os.environ["REAL_SAMERUN"])
