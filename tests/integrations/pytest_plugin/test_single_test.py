"""The command that runs one test alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from samerun.integrations.pytest_plugin.single_test import build_command, keep_arguments

pytest_plugins = ["pytester"]


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (["--samerun", "-n", "2", "--dist", "load", "-x"], ["-x"]),
        (["-n3", "--junitxml=out.xml", "-k", "it", "-m", "not gpu"], ["-k", "it", "-m", "not gpu"]),
        (["--junitxml", "out.xml", "-o", "xfail_strict=true", "test_it.py"], ["-o", "xfail_strict=true"]),
        (["-p", "no:randomly", "test_it.py::test_a", "-W", "error"], ["-p", "no:randomly", "-W", "error"]),
    ],
)
def test_options_that_matter_to_a_single_test_are_kept(pytester, given, kept) -> None:
    pytester.makepyfile(test_it="def test_a(): ...")
    assert keep_arguments(pytester.parseconfig(*given))[: len(kept)] == kept


def test_the_test_is_named_by_its_whole_path_and_its_parameters(pytester) -> None:
    path = pytester.makepyfile(
        test_it="import pytest\n@pytest.mark.parametrize('x', ['a::b'])\ndef test_a(x): ..."
    )
    item = pytester.getitem(path.read_text(), "test_a[a::b]")
    *_, name = command = build_command(item, Path("/there"))
    assert name == f"{item.path}::test_a[a::b]"
    assert "--samerun-observed=/there" in command and f"--rootdir={item.config.rootpath}" in command


@pytest.mark.parametrize("there", [True, False])
def test_the_cache_of_the_user_is_left_alone_where_there_is_one(pytester, there: bool) -> None:
    if not there:
        pytester.makeini("[pytest]\naddopts = -p no:cacheprovider --strict-config\n")
    item = pytester.getitem("def test_a(): ...", "test_a")
    assert ("cache_dir=/there/cache" in build_command(item, Path("/there"))) == there
