"""Where the runs of a verb are kept."""

from __future__ import annotations

import tempfile
from pathlib import Path

from samerun.cli.settings.files import read_settings
from samerun.cli.stderr import say
from samerun.runs.store import ROOT, Store


def open_store() -> Store:
    """That of the folder that [tool.samerun] names, else of this one; with what is not to be compared.

    Raises UsageError for a mistake in the file.
    """
    kept = read_settings(Path.cwd())
    return Store(ROOT if kept.store is None else kept.store / ROOT, kept.ignore)


def store_to_record(*, ignoring: bool = False) -> Store:
    """As `open_store`; a new one among the temporary files where that cannot be written.

    Says so then: a read-only folder must not keep anybody from training. Raises RunError when neither can be
    written.
    """
    store = open_store()
    if not ignoring:
        store = Store(store.root)
    refused = store.refusal()
    if refused is None:
        return store
    try:
        elsewhere = Store(Path(tempfile.mkdtemp(prefix="samerun-")), store.ignored)
    except OSError:
        store.create()  # says what is wrong here
        return store
    say(f"{store.runs.absolute()} cannot be written ({refused}); runs are kept in {elsewhere.runs} instead")
    return elsewhere
