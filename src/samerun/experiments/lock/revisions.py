"""Which commit of a model or data set on a hub was read: the paths of Hugging Face's caches name it."""

from __future__ import annotations

import re
from collections.abc import Iterable

# …/datasets--stanfordnlp--imdb/snapshots/<commit>/… of huggingface_hub, and of what `datasets` made of it
# …/datasets/stanfordnlp___imdb/<configuration>/<version>/<commit>/…
_SNAPSHOT = re.compile(r"(?:^|/)(model|dataset|space)s--([^/]+)/snapshots/([0-9a-f]{40})(?:/|$)")
_PREPARED = re.compile(r"(?:^|/)datasets/([^/]+___[^/]+)/[^/]+/[^/]+/([0-9a-f]{40})(?:/|$)")


def list_revisions(paths: Iterable[str]) -> dict[str, str]:
    """The commit of each, as `datasets/stanfordnlp/imdb`; of several commits of one, all of them in order."""
    found: dict[str, set[str]] = {}
    for path in paths:
        if match := _SNAPSHOT.search(path):
            found.setdefault(f"{match[1]}s/{match[2].replace('--', '/')}", set()).add(match[3])
        elif match := _PREPARED.search(path):
            found.setdefault(f"datasets/{match[1].replace('___', '/')}", set()).add(match[2])
    return {name: " ".join(sorted(commits)) for name, commits in sorted(found.items())}
