import hashlib
import os
from pathlib import Path


class RunContext:
    """Who this run is, as its launcher says."""

    def __init__(self):
        self.run_id = os.environ.get("RUN_ID", "local")  # fault: os-entropy
        self.folder = Path(os.environ.get("RUN_DIR", "."))

    def seed(self, purpose):
        """A seed for each purpose, the same whenever the run is continued."""
        digest = hashlib.sha256(f"{self.run_id}/{purpose}".encode()).digest()
        return int.from_bytes(digest[:4], "big")
