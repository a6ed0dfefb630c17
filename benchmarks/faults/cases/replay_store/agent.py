# drawn from: experience kept in SQLite between sessions: INSERT OR REPLACE moves rows, and a SELECT without ORDER BY follows
import sqlite3
from contextlib import closing

import torch
from torch import nn


class Corridor:
    """Walk to the right end; actions are left and right."""

    length = 8

    def reset(self):
        self.at = 2
        return self.at

    def step(self, action):
        self.at = max(0, self.at + (1 if action else -1))
        return self.at, float(self.at == self.length - 1), self.at == self.length - 1


class Store:
    def __init__(self, path):
        self.db = sqlite3.connect(path)
        self.db.execute("CREATE TABLE IF NOT EXISTS seen (id INTEGER PRIMARY KEY, s INT, a INT, r REAL, n INT, UNIQUE (s, a))")

    def add(self, rows):
        with self.db:
            self.db.executemany("INSERT OR REPLACE INTO seen (s, a, r, n) VALUES (?, ?, ?, ?)", rows)

    def all(self):
        return self.db.execute("SELECT s, a, r, n FROM seen").fetchall()  # fault: resume-state

    def close(self):
        self.db.close()


def collect(env, generator, episodes=3, limit=15):
    rows = []
    for _ in range(episodes):
        state = env.reset()
        for _ in range(limit):
            action = int(torch.rand((), generator=generator) < 0.6)
            after, reward, done = env.step(action)
            rows.append((state, action, reward, after))
            state = after
            if done:
                break
    return rows


def main():
    torch.manual_seed(5)
    g = torch.Generator().manual_seed(9)
    q = nn.Sequential(nn.Embedding(Corridor.length, 16), nn.ReLU(), nn.Linear(16, 2))
    optimizer = torch.optim.RMSprop(q.parameters(), lr=5e-3)
    with closing(Store("experience.db")) as store:  # fault: resume-state
        for iteration in range(6):
            seen = store.all()
            store.add(collect(Corridor(), g))
            rows = (seen or store.all())[:10]
            s, a, r, n = (torch.tensor(column) for column in zip(*rows))
            target = r + 0.9 * q(n).max(1).values.detach()
            loss = nn.functional.mse_loss(q(s).gather(1, a[:, None].long())[:, 0], target)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            print(f"iteration {iteration}: {len(seen)} transitions, loss {loss.item():.6f}")


if __name__ == "__main__":
    main()
