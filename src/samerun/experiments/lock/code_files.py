"""The code of a run: what its training imported, the programs beside it, and the scripts of its command."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path, PurePath

from samerun.comparing.pairing import RecordedRun
from samerun.digest import digest_bytes
from samerun.runs import untrusted
from samerun.runs.schema import HELPER
from samerun.runs.source_lines import MOST_BYTES, OF_SHELLS, parse_site
from samerun.sources.code import Code


def list_code_files(recorded: RecordedRun) -> dict[str, str]:
    """The digest of each, by its path as the run shows it.

    Of what no training imported, such as a step that prepares its data, as it is now in the run's folder.
    """
    manifest = recorded.run.manifest
    said = manifest.settings.get(Code.id, {})
    found = {path: digest for path, digest in said.items() if isinstance(digest, str)}
    for path in dict.fromkeys(_list_beside(recorded)):
        if path in found or PurePath(path).is_absolute() or ".." in PurePath(path).parts:
            continue
        try:
            found[path] = digest_bytes(untrusted.read_bytes(Path(manifest.cwd, path), MOST_BYTES)).hex()
        except OSError:
            continue
    return found


def _list_beside(recorded: RecordedRun) -> Iterator[str]:
    yield from (
        PurePath(word).as_posix() for word in recorded.run.manifest.command if word.endswith(OF_SHELLS)
    )
    for trace in recorded.other:
        if f".{HELPER}" not in trace.stem:
            continue
        argv = trace.meta.get("argv")
        words = [word for word in argv if isinstance(word, str)] if isinstance(argv, list) else []
        yield from (PurePath(word).as_posix() for word in words if word.endswith(".py"))
        sites = map(parse_site, trace.words("call_site"))
        yield from (site[0] for site in sites if site is not None and site[0].endswith(".py"))
