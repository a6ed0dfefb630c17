"""Where the runs of a verb are kept."""

from __future__ import annotations

import tempfile
from pathlib import Path

from samerun.cli.stderr import say
from samerun.runs.store import Store


def store_to_record() -> Store:
    """The store of this folder; a new one among the temporary files where that cannot be written.

    Says so then: a read-only folder must not keep anybody from training. Raises RunError when neither can be
    written.
    """
    store = Store()
    refused = store.refusal()
    if refused is None:
        return store
    try:
        elsewhere = Store(Path(tempfile.mkdtemp(prefix="samerun-")))
    except OSError:
        store.create()  # says what is wrong here
        return store
    say(f"{store.runs.absolute()} cannot be written ({refused}); runs are kept in {elsewhere.runs} instead")
    return elsewhere
