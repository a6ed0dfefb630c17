"""docs/tools.md and llms.txt: the code runs, the JSON is as the schema says, links lead somewhere."""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from surface.described import keys
from surface.schemas import schema_keys, validator

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "tools.md"
RUNS = ROOT / "tests" / "surface" / "runs"


def find_block(language: str) -> str:
    (block,) = re.findall(rf"^```{language}\n(.*?)^```$", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    return block


def test_the_code_reads_a_result(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"])))
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    exec(find_block("python"), names)
    result = names["call_samerun"]("diff", str(RUNS / "plain"), str(RUNS / "other"))
    assert result["verdict"] == "differs"
    assert names["list_proved"](result) == []
    result["causes"][0]["confirmed"] = True
    assert [one[0] for one in names["list_proved"](result)] == ["python-random"]
    with pytest.raises(RuntimeError, match="nowhere"):
        names["call_samerun"]("diff", "nowhere", "last")


def test_the_shortened_json_has_keys_and_values_of_the_schema() -> None:
    shortened = json.loads(find_block("json"))
    assert keys(shortened) <= schema_keys("check")
    wrong = [error for error in validator("check").iter_errors(shortened) if error.validator != "required"]
    assert wrong == []


def test_every_link_of_llms_txt_leads_to_a_file() -> None:
    text = (ROOT / "llms.txt").read_text("utf-8")
    assert re.match(r"# samerun\n\n> [^\n]+\n\n", text)
    links = re.findall(r"^- \[[^\]]+\]\(https://\S+?/samerun/samerun/(?:tree/)?main/(\S+)\): \S", text, re.M)
    assert len(links) == len(re.findall(r"^- ", text, re.M))
    assert [link for link in links if not (ROOT / link).exists()] == []
