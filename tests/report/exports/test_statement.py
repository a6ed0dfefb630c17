"""What a lock says for a paper. Covers `markup.py`."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from trainer import EXAMPLES

from samerun.report.exports.statement import write_statement
from samerun.runs.lock.content import Bounds, Lock
from samerun.runs.lock.file import FILE, read_lock


@pytest.fixture(scope="module")
def lock(tmp_path_factory: pytest.TempPathFactory) -> Lock:
    """The real one of the documentation."""
    page = (EXAMPLES.parent / "docs" / "lock.md").read_text(encoding="utf-8")
    (text,) = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
    path: Path = tmp_path_factory.mktemp("lock") / FILE
    path.write_text(text, encoding="utf-8")
    return read_lock(path)


def test_facts_of_the_lock_are_in_it_and_what_it_does_not_know_is_said(lock: Lock) -> None:
    text = write_statement(lock, "markdown")
    (environment,) = lock.environments.values()
    assert "`python digits_cnn.py --epochs 1`" in text and "mode strict, seed 0" in text
    assert "30 optimizer steps on 1 process." in text and f"`{environment.root['all']}`" in text
    assert f"accuracy {environment.result.metrics['accuracy']:.9g}" in text and "no commit is locked" in text
    assert f"hardware.processor {environment.machine['hardware.processor']}" in text
    assert "nothing is known of how far results move" in text
    assert "the sample indices of every batch are locked" in text
    assert text.count("Not known from the lock:") == 10
    assert [item[:1] for item in re.findall(r"\*\*(\d\..*?)\*\*", text)] == ["4", "5", "6", "7", "8"]


def test_another_lock_says_other_things(lock: Lock) -> None:
    ((id_, environment),) = lock.environments.items()
    bounded = replace(environment, bounds=Bounds(2e-6, {}, ("threads: 1 thread",)))
    other = replace(
        lock,
        environments={id_: bounded},
        portable={},
        compatible=True,
        code=replace(lock.code, commit="abc123", dirty=True),
        revisions={"models/gpt2": "c" * 40},
    )
    text = write_statement(other, "markdown")
    assert "losses moved by at most 2e-06 (relative), measured with threads: 1 thread" in text
    assert "commit `abc123`, with uncommitted changes" in text and "models/gpt2 at " + "c" * 40 in text
    assert "nothing is known of splits" in text and "seeded as by torch.manual" in text


def test_latex_and_markdown_take_no_orders_from_a_lock(lock: Lock) -> None:
    hostile = replace(
        lock, command=("python", "a`b_%$.py", "<script>", "\x1b[2J\n# x", r"\input{/etc/passwd}")
    )
    plain = write_statement(hostile, "markdown")
    assert "\x1b" not in plain and "\n# x" not in plain and "``python 'a`b_%$.py'" in plain
    latex = write_statement(hostile, "latex")
    assert r"\input{" not in latex and r"\textbackslash{}input\{/etc/passwd\}" in latex
    assert r"b\_\%\$.py" in latex and latex.count(r"\begin{itemize}") == latex.count(r"\end{itemize}") == 2
