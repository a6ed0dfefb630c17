"""Which rank am I, and do the ranks agree. Importing this package imports neither torch nor numpy."""

from __future__ import annotations

from samerun.ranks.agreement import check_agree
from samerun.ranks.identity import rank, world_size
from samerun.ranks.seed import rank_stream, sync_seed

__all__ = ["check_agree", "rank", "rank_stream", "sync_seed", "world_size"]
