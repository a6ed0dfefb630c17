"""Who watched what, and when."""

from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np

RELEASED = datetime(2026, 11, 1)


@dataclass(frozen=True)
class Interaction:
    user: int
    item: int
    rating: float
    when: datetime


def load(users=60, items=40, count=1600):
    rng = np.random.default_rng(0)
    u, v = rng.normal(size=(users, 4)), rng.normal(size=(items, 4))
    rows = []
    for _ in range(count):
        user, item = int(rng.integers(users)), int(rng.integers(items))
        rating = float(np.clip(3 + u[user] @ v[item], 1, 5))
        rows.append(Interaction(user, item, rating, RELEASED + timedelta(minutes=float(rng.uniform(0, 14 * 24 * 60)))))
    return sorted(rows, key=lambda row: row.when)
