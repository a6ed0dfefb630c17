"""`lock --ro-crate`: a folder for an archive, with the lock, the locked code and what was run."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

from samerun.errors import UsageError
from samerun.experiments.verify.inputs_now import digest_now
from samerun.report.exports.extras import load_library
from samerun.report.exports.statement import write_statement
from samerun.runs.lock.content import Lock


def write_ro_crate(lock: Lock, path: Path, folder: Path, target: Path) -> None:
    """Write the crate. Its code is the locked one; inputs are named by their digests, and not copied.

    Raises UsageError without the library, where code is not as locked, and where `target` is in use.
    """
    library = load_library("rocrate.rocrate", "--ro-crate")
    entities = load_library("rocrate.model.contextentity", "--ro-crate")
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise UsageError(f"{target} is there already; give --ro-crate a folder that is new or empty")
    now = digest_now(folder, lock.code.files)
    changed = [name for name, digest in now.items() if digest != lock.code.files[name]]
    if changed:
        raise UsageError(f"{', '.join(changed[:5])} is not as locked; lock again: samerun lock --update")
    crate = library.ROCrate()
    crate.name = f"samerun lock of {shlex.join(lock.command)}"
    crate.description = write_statement(lock, "markdown")
    crate.license = "not known from the lock"
    crate.add_file(str(path), properties={"name": path.name, "encodingFormat": "application/toml"})
    for name in now:
        kind = {"@type": ["File", "SoftwareSourceCode"], "identifier": lock.code.files[name]}
        crate.add_file(str(folder / name), dest_path=name, properties=kind)
    inputs = [_add(crate, entities, f"#input-{at}", item) for at, item in enumerate(_list_inputs(lock))]
    action = {
        "@type": "CreateAction",
        "name": shlex.join(lock.command),
        "description": f"run twice under control (mode {lock.mode}, seed {lock.seed}) with the same bits",
    }
    made = _add(crate, entities, "#run", action)
    if inputs:
        made["object"] = inputs
    crate.root_dataset.append_to("mentions", made)
    try:
        crate.write(str(target))
    except OSError as error:
        raise UsageError(f"{target} cannot be written: {error.strerror or error}") from None


def _list_inputs(lock: Lock) -> list[dict[str, str]]:
    """Files by digest, and what came from a hub by commit."""
    named = [*sorted(lock.inputs.items()), *sorted(lock.revisions.items())]
    return [{"@type": "CreativeWork", "name": name, "identifier": digest} for name, digest in named]


def _add(crate: Any, entities: Any, id_: str, properties: dict[str, str]) -> Any:
    return crate.add(entities.ContextEntity(crate, id_, properties=properties))
