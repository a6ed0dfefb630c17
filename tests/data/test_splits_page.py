import doctest
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs/data/splits.md"


def test_the_examples_of_the_page_run_as_shown():
    failed, tried = doctest.testfile(str(PAGE), module_relative=False)
    assert failed == 0
    assert tried > 5
