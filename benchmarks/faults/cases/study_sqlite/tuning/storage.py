"""Trials in a SQLite file, as Optuna keeps them."""

import sqlite3


class Storage:
    """All trials of a study."""

    def __init__(self, path):
        self.connection = sqlite3.connect(path)  # fault: resume-state
        self.connection.execute("create table if not exists trials (id integer primary key, lr real, width integer, loss real)")

    def best(self, count):
        """(lr, width) of the best trials so far, best first."""
        rows = self.connection.execute("select lr, width from trials order by loss limit ?", (count,))  # fault: resume-state
        return rows.fetchall()

    def add(self, lr, width, loss):
        with self.connection:
            self.connection.execute("insert into trials (lr, width, loss) values (?, ?, ?)", (lr, width, loss))

    def close(self):
        self.connection.close()
