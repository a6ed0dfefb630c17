"""The clock as it is before a source, or the script, puts another in its place.

What samerun measures of itself is no read of the user's: it must neither be noted as one, nor move a made-up
clock.
"""

from __future__ import annotations

import time

read_s = time.perf_counter  # seconds; imported before anything is replaced, by what replaces it
