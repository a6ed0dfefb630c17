"""The command that runs one test alone, as its user runs the suite."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

# Left out: how tests are spread over processes, what is written at the end, who is asked in between.
_FLAGS = frozenset(["--samerun", "-d", "-f", "--looponfail", "--pdb", "--trace"])
_WITH_VALUE = frozenset(
    [
        "-n",
        "--numprocesses",
        "--maxprocesses",
        "--dist",
        "--tx",
        "--junitxml",
        "--junit-xml",
        "--html",
        "--report-log",
    ]
)


def build_command(item: pytest.Item, folder: Path) -> tuple[str, ...]:
    """Runs the test in a process that says in `folder` what it did."""
    config = item.config
    workerinput = getattr(config, "workerinput", {})
    arguments = workerinput.get("samerun_arguments")
    within = item.nodeid.partition("::")[2]
    options = [f"--rootdir={config.rootpath}"]
    if config.inipath is not None:
        options += ["-c", str(config.inipath)]
    if config.pluginmanager.hasplugin("xdist"):
        options.append("-n0")
    if config.pluginmanager.hasplugin("_cov"):
        options.append("--no-cov")
    if config.pluginmanager.hasplugin("cacheprovider"):  # else it is an option that there is not
        options += ["-o", f"cache_dir={folder / 'cache'}"]
    return (
        sys.executable,
        "-m",
        "pytest",
        *(keep_arguments(config) if arguments is None else arguments),
        *options,
        "-rP",  # what the test printed is compared
        f"--samerun-observed={folder}",
        f"{item.path}::{within}" if within else str(item.path),
    )


def keep_arguments(config: pytest.Config) -> list[str]:
    """The options of this command line that matter to a single test."""
    chosen = set(map(str, getattr(config.option, "file_or_dir", None) or ()))
    kept = []
    words = iter(map(str, config.invocation_params.args))
    for word in words:
        name = word.partition("=")[0]
        if name in _WITH_VALUE:
            if "=" not in word:
                next(words, None)
        elif word not in chosen and name not in _FLAGS and not _is_count_of_workers(word):
            kept.append(word)
    return kept


def _is_count_of_workers(word: str) -> bool:
    return word.startswith("-n") and len(word) > 2 and not word.startswith("--")
