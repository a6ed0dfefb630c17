"""Mode portable: what it holds in a process and in the environment, and that it is put back.

Covers `cpu_isa.py`.
"""

from __future__ import annotations

import platform

import pytest
import torch

import samerun
from samerun.controls import build_environment, select_sources
from samerun.errors import UsageError
from samerun.runs.plan import Control
from samerun.sources.catalogue import find_sources

PORTABLE = Control("portable", 0)


pytestmark = pytest.mark.usefixtures("nothing_pinned")


def test_it_is_strict_and_more() -> None:
    strict, portable = (
        {source.id for source in select_sources(Control(mode))} for mode in ("strict", "portable")
    )
    assert portable - strict == {"threads", "cpu-isa"}
    assert strict < portable


@pytest.mark.skipif(platform.machine() != "x86_64", reason="of x86-64")
def test_the_variables_are_there_before_the_process_starts() -> None:
    found = build_environment(PORTABLE)
    assert found["ATEN_CPU_CAPABILITY"] == "default"
    assert found["MKL_CBWR"] == "COMPATIBLE"
    assert found["OMP_NUM_THREADS"] == "1"
    assert "ATEN_CPU_CAPABILITY" not in build_environment(Control("strict"))


@pytest.mark.parametrize(("name", "value"), [("OMP_NUM_THREADS", "4"), ("ATEN_CPU_CAPABILITY", "avx2")])
def test_a_variable_of_the_users_that_contradicts_it_is_refused(
    name: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if name.startswith("ATEN") and platform.machine() != "x86_64":
        pytest.skip("of x86-64")
    monkeypatch.setenv(name, value)
    with pytest.raises(UsageError, match=name):
        build_environment(PORTABLE)


def test_one_thread_and_no_onednn_while_it_lasts() -> None:
    threads, onednn = torch.get_num_threads(), torch.backends.mkldnn.enabled
    with samerun.control(mode="portable"):
        assert torch.get_num_threads() == 1
        assert not torch.backends.mkldnn.enabled
        assert find_sources()["cpu-isa"].describe()["onednn"] is False
    assert torch.get_num_threads() == threads
    assert torch.backends.mkldnn.enabled == onednn
