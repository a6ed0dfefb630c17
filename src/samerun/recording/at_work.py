"""Whether samerun itself is at work in a thread: what it reads there meanwhile is none of the program's."""

from __future__ import annotations

import threading


class AtWork(threading.local):
    """Of each thread apart: what another thread does at that moment is the program's, and counts."""

    busy = False
