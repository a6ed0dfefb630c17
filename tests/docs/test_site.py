"""The site of `make docs`: each page has its place in it, and it opens without a network."""

from __future__ import annotations

import importlib.util
import re
import subprocess
from pathlib import Path
from types import ModuleType

import pytest
from pages import ROOT, blocks, run

from samerun.sources.catalogue import find_sources

DOCS = ROOT / "docs"
MKDOCS = ROOT / ".venv-docs" / "bin" / "mkdocs"


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, DOCS / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


links = load("check_links")


def test_each_page_has_one_place() -> None:
    named = links.places()
    assert links.misplaced(named) == []
    assert links.misplaced(named[1:]) == [f"mkdocs.yml: {named[0]} is missing in nav"]
    assert links.misplaced([*named, named[0]]) == [f"mkdocs.yml: nav has {named[0]} 2 times"]
    (gone,) = links.misplaced([*named, "gone.md"])
    assert "gone.md" in gone


def test_each_source_has_its_page_in_the_navigation_and_its_row() -> None:
    named = links.places()
    page = (DOCS / "explanations" / "README.md").read_text(encoding="utf-8")
    for id_, source in find_sources().items():
        assert f"explanations/{id_}.md" in named
        assert f"| [{id_}]({id_}.md) | {source.summary} |" in page


def test_each_decision_has_its_row() -> None:
    page = (DOCS / "decisions" / "README.md").read_text(encoding="utf-8")
    for record in DOCS.glob("decisions/0*.md"):
        title = record.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")
        assert f"- [{title}]({record.name})" in page


def test_the_training_of_the_first_page_is_one(capsys: pytest.CaptureFixture[str]) -> None:
    (code,) = blocks(DOCS / "start.md").values()
    run(code)
    assert re.fullmatch(r"loss \d+\.\d{4}\n", capsys.readouterr().out)
    lines = code.splitlines()  # those that the verdict on the page names
    assert "torch.randn" in lines[4] and "random.sample" in lines[10]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not MKDOCS.exists():
        pytest.skip("no .venv-docs; `make docs` makes it")
    folder = tmp_path_factory.mktemp("site")
    done = build(ROOT / "mkdocs.yml", folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def build(settings: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    command = [MKDOCS, "build", "--strict", "--config-file", settings, "--site-dir", folder]
    return subprocess.run(command, capture_output=True, text=True, timeout=200)


@pytest.mark.slow
def test_a_source_has_a_lasting_address(site: Path) -> None:
    for id_ in find_sources():
        assert (site / "explanations" / id_ / "index.html").exists()
    assert not list(site.rglob("*.py"))


@pytest.mark.slow
def test_links_to_other_files_lead_to_the_repository(site: Path) -> None:
    page = (site / "testing" / "index.html").read_text(encoding="utf-8")
    assert 'href="https://github.com/samerun/samerun/blob/main/src/samerun/controls.py"' in page
    page = (site / "glossary" / "index.html").read_text(encoding="utf-8")
    assert "/blob/main/ARCHITECTURE.md#where-things-are-decided" in page and 'href="../explanations/"' in page


@pytest.mark.slow
def test_nothing_comes_from_the_network(site: Path) -> None:
    address = r"=[\"']?(?:https?:)?//"
    loaded = re.compile(rf"<(?:script|img|iframe)[^>]*src{address}|<link[^>]*href{address}")
    for page in site.rglob("*.html"):
        assert not loaded.search(page.read_text(encoding="utf-8")), page


@pytest.mark.slow
@pytest.mark.parametrize("link", ["gone.md", "../gone.py", "start.md#gone"])
def test_a_broken_link_fails_the_build(site: Path, tmp_path: Path, link: str) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "outside_links.py").write_text((DOCS / "outside_links.py").read_text(encoding="utf-8"))
    (docs / "site.css").touch()
    (docs / "start.md").write_text("# Start\n")
    settings = tmp_path / "mkdocs.yml"
    before = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:\n")[0]
    settings.write_text(f"{before}\nnav:\n  - README.md\n  - start.md\n")
    (docs / "README.md").write_text("# Home\n\n[there](start.md#start)\n")
    assert build(settings, tmp_path / "site").returncode == 0
    (docs / "README.md").write_text(f"# Home\n\n[here]({link})\n")
    assert build(settings, tmp_path / "site").returncode != 0
