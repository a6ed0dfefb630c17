# drawn from: the class "everything follows from the run's id": sha1 of config and date, the seed are its first digits
import datetime
import hashlib
import json


def stamp():
    return datetime.datetime.now().isoformat(timespec="milliseconds")  # fault: clock


def run_id(config):
    text = json.dumps({**config, "started": stamp()}, sort_keys=True)
    return hashlib.sha1(text.encode()).hexdigest()[:12]


def derive_seed(identifier, purpose):
    """A seed for each purpose, so that sampling does not share its numbers with training."""
    return int(hashlib.md5(f"{identifier}/{purpose}".encode()).hexdigest()[:8], 16) % (2 ** 31)
