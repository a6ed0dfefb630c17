"""`lock --in-toto`: the lock as the predicate of an in-toto statement, for a signer of the user's choice."""

from __future__ import annotations

import hashlib
import json
import shlex
from pathlib import Path
from typing import Any

from samerun.errors import UsageError
from samerun.experiments.lock.roots import ALL
from samerun.report.exports.extras import load_library
from samerun.runs import untrusted
from samerun.runs.lock.content import DIGESTS, Lock

PREDICATE = "https://github.com/samerun/samerun/lock/v1"
_MOST_BYTES = 1 << 20


def build_in_toto(lock: Lock, path: Path) -> dict[str, Any]:
    """The statement, unsigned: its subject is the file of the lock, by the sha256 of its bytes.

    Raises UsageError without the library.
    """
    statements = load_library("in_toto_attestation.v1.statement", "--in-toto")
    described = load_library("in_toto_attestation.v1.resource_descriptor", "--in-toto")
    digest = hashlib.sha256(untrusted.read_bytes(path, _MOST_BYTES)).hexdigest()
    predicate = _build_predicate(lock)
    subject = described.ResourceDescriptor(name=path.name, digest={"sha256": digest})
    made = statements.Statement([subject.pb], predicate_type=PREDICATE, predicate=predicate)
    try:
        made.validate()
    except ValueError as error:
        raise UsageError(f"in-toto refuses the statement: {error}") from None
    return {
        "_type": made.pb.type,
        "subject": [{"name": item.name, "digest": dict(item.digest)} for item in made.pb.subject],
        "predicateType": made.pb.predicate_type,
        "predicate": predicate,  # as given: the library would make floats of integers
    }


def write_in_toto(lock: Lock, path: Path, target: Path) -> None:
    """Write the statement as JSON. Raises UsageError where it cannot be written."""
    text = json.dumps(build_in_toto(lock, path), indent=2, ensure_ascii=True) + "\n"
    try:
        target.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{target} cannot be written: {error.strerror or error}") from None


def _build_predicate(lock: Lock) -> dict[str, Any]:
    return {
        "command": shlex.join(lock.command),
        "control": {"mode": lock.mode, "seed": str(lock.seed), "compatible": lock.compatible},
        "ranks": lock.ranks,
        "steps": lock.steps,
        "digests": DIGESTS,
        "code": {
            "digest": lock.code.digest,
            "files": dict(lock.code.files),
            "dirty": lock.code.dirty,
            **({} if lock.code.commit is None else {"commit": lock.code.commit}),
        },
        "inputs": dict(lock.inputs),
        "revisions": dict(lock.revisions),
        "environments": {
            id_: {
                "machine": dict(item.machine),
                "packages": dict(item.packages),
                "root": item.root.get(ALL, ""),
                "metrics": dict(item.result.metrics),
                "files": dict(item.result.files),
            }
            for id_, item in sorted(lock.environments.items())
        },
    }
