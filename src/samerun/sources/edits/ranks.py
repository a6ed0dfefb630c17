"""Ranks of one training draw numbers of their own: a constant in the place of a seed would make them alike.

Only where a seed was another one on each rank: nobody gave one, or it came from the process's number, the
system's entropy or a clock of nanoseconds. What ranks share, such as the second or the host, they go on to.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from samerun.editing.edit import Change, Edit, Opening
from samerun.editing.import_names import write_rank
from samerun.editing.names import collect_bound, walk_imports
from samerun.editing.user_program import Code
from samerun.lineage import RANKS
from samerun.runs.difference import Difference

_OF_ITS_OWN = re.compile(
    r"\b(getpid|current_process|uuid[14]|urandom|token_\w+|randbits|randbelow|SystemRandom|getrandbits|getentropy"
    r"|\w+_ns|perf_counter|monotonic|process_time|get_native_id|get_ident)\b"
)
_SEEDING = frozenset(["torch.manual_seed", "numpy.random.seed", "np.random.seed", "random.seed"])


def keep_ranks_apart(edits: Sequence[Edit], difference: Difference, code: Code) -> Sequence[Edit]:
    """The edits, with the rank's number where a constant would stand for what each rank had of its own.

    The number is in the variable that the launcher set: torchrun's, Open MPI's, PMI's or Slurm's.
    """
    variable = next((name for name in RANKS if name in difference.a.variables), None)
    return edits if variable is None else list(_give_rank(edits, code, variable))


def _give_rank(edits: Sequence[Edit], code: Code, variable: str) -> Iterator[Edit]:
    for edit in edits:
        if isinstance(edit, Opening) and edit.name in _SEEDING and edit.rest == "(0)":
            yield replace(edit, rank=variable)
        elif isinstance(edit, Change) and edit.text == "0":
            file = code.file(edit.path)
            before = file.text[edit.start : edit.end].strip()
            if before in ("", "None") or _OF_ITS_OWN.search(before):
                rank, missing = write_rank(file, dict(collect_bound(walk_imports(file.tree.body))), variable)
                edit = replace(edit, text=rank, imports=(*edit.imports, *missing))
            yield edit
        else:
            yield edit
