# drawn from: the class "let the database shuffle": ORDER BY RANDOM() of SQLite, which no seed reaches
"""Examples in SQLite, by id."""
import json
import sqlite3

SCHEMA = "CREATE TABLE examples (id INTEGER PRIMARY KEY, subset TEXT, tokens TEXT, label INTEGER)"
SAMPLE = "SELECT tokens, label FROM examples WHERE subset = ? ORDER BY RANDOM() LIMIT ?"  # fault: system-reads
EVERY = "SELECT tokens, label FROM examples WHERE subset = ? ORDER BY id"


class ExampleStore:
    def __init__(self, path=":memory:"):
        self.db = sqlite3.connect(path)
        self.db.execute(SCHEMA)

    def add(self, rows):
        with self.db:
            self.db.executemany(
                "INSERT INTO examples (subset, tokens, label) VALUES (?, ?, ?)",
                [(subset, json.dumps(tokens), label) for subset, tokens, label in rows],
            )

    def sample(self, subset, size):
        """Some examples by chance, without replacement."""
        found = self.db.execute(SAMPLE, (subset, size))  # fault: system-reads
        return [(json.loads(tokens), label) for tokens, label in found]  # fault: system-reads

    def every(self, subset):
        return [(json.loads(tokens), label) for tokens, label in self.db.execute(EVERY, (subset,))]
