from __future__ import annotations

import contextlib
import types

import torch
from torch.cuda import StreamContext

from samerun.experiments.check.confirm import hides
from samerun.explaining.explained import Explained
from samerun.runs.difference import Difference, Gap, Strength
from samerun.runs.plan import Control
from samerun.sources.catalogue import find_sources
from samerun.sources.stream_race import StreamRace

from .differences import batch, operation, origin, row, side

KNOWN = find_sources()["stream-race"]
USES = side(row("stream", "torch.cuda.stream", call_site="train.py:27"))
GAP = Gap("aten.mm.default", "train.py:9", "aten.relu.default", "train.py:7")


def test_work_on_streams_explains_what_nothing_else_does():
    loss = Difference(step=2, phase="forward", what="loss", a=USES)
    found = KNOWN.recognise(loss)
    assert (found.strength, found.call_site) == (Strength.PLAUSIBLE, "train.py:27")
    assert hides(Explained(loss))
    assert KNOWN.recognise(operation(a=USES)).strength is Strength.SLIGHT  # a kernel, rather
    past = operation(origin=origin(inputs_equal=False), gap=GAP, a=USES)
    assert KNOWN.recognise(past).strength is Strength.STRONG
    assert "between train.py:7 and train.py:9" in KNOWN.recognise(past).text


def test_without_streams_or_with_other_random_numbers_it_does_not():
    assert KNOWN.recognise(Difference(step=2, phase="forward", what="loss")) is None
    assert KNOWN.recognise(batch(a=USES, rng_first={"torch-cpu": 0}, drawn=frozenset({"torch-cpu"}))) is None
    for columns in ({"draws": True}, {"reads_uninitialized": True}):
        assert KNOWN.recognise(operation(origin=origin(**columns), a=USES)) is None
    seeded = side(*USES.evidence, row("seed", "torch.manual_seed", digest=b"1" * 16))
    other = side(*USES.evidence, row("seed", "torch.manual_seed", digest=b"2" * 16))
    assert KNOWN.recognise(Difference(2, "forward", "loss", a=seeded, b=other)) is None


def test_a_copy_that_gave_other_bits_was_torn():
    found = KNOWN.recognise(operation(origin=origin("aten.copy_.default")))
    assert found.strength is Strength.SEEN
    kernels = find_sources()["nondeterministic-kernels"].recognise(
        operation(origin=origin("aten.copy_.default"))
    )
    assert kernels.strength < Strength.PLAUSIBLE
    assert KNOWN.recognise(operation(origin=origin("aten.copy_.default", inputs_equal=False))) is None


def test_it_is_controlled_on_request_alone_by_a_variable():
    assert not KNOWN.is_controlled_by(Control())
    assert KNOWN.is_controlled_by(Control(extra=("stream-race",)))
    assert KNOWN.environment(Control()) == {"CUDA_LAUNCH_BLOCKING": "1"}
    assert not hides(Explained(operation()))


def test_each_line_that_works_on_a_stream_is_noted_once(notes):
    undo = StreamRace().observe(notes)
    enter = StreamContext.__enter__
    nothing = StreamContext(None)
    for _ in range(2):
        nothing.__enter__()
    assert notes.of("stream") == []
    side_by_side = StreamContext.__new__(StreamContext)
    side_by_side.stream, side_by_side.idx = torch.device("cuda"), None
    for _ in range(2):
        with contextlib.suppress(Exception):  # there is no such stream
            side_by_side.__enter__()
    library = types.FunctionType(_enter.__code__.replace(co_filename=torch.cuda.__file__), globals())
    library(side_by_side)  # as FSDP does
    (noted,) = notes.of("stream")
    assert noted.name == "torch.cuda.stream" and "test_stream_race.py" in noted.call_site
    undo()
    assert StreamContext.__enter__ is not enter


def _enter(context):
    with contextlib.suppress(Exception):
        context.__enter__()
