"""The lines that save and restore what a checkpoint lacked."""

from __future__ import annotations

import random
from typing import Any

from samerun.experiments.resume.advice import advise_generators, advise_samples


def test_the_lines_for_a_generator_do_what_they_are_for() -> None:
    names: dict[str, Any] = {"checkpoint": {}, "random": random}
    save, restore, note = advise_generators(["python-random"]).splitlines()
    exec(save, names)
    drawn = random.random()
    exec(restore, names)
    assert random.random() == drawn
    assert note.startswith("#")


def test_a_source_without_lines_of_its_own_has_those_of_samerun() -> None:
    assert advise_generators(["numpy-generator"]).splitlines()[:2] == [
        'checkpoint["numpy-generator"] = samerun.state.capture()',
        'samerun.state.restore(checkpoint["numpy-generator"])',
    ]


def test_the_lines_for_samples_name_the_generators_that_are_known() -> None:
    assert advise_samples([]).count("\n") == 0
    assert advise_samples(["torch-cpu"]).endswith(advise_generators(["torch-cpu"]))
