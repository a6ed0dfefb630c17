"""The corpus is whole: its truths can be held against something. That they are true, verify.py shows."""

import ast
import subprocess
from pathlib import Path

import pytest
from notebooks import write_notebook
from scoring.case import CASES, Case, load, read
from scoring.copying import COMMENTED, MARK, Line, command, copy, environment, mend, strip

from samerun.runs.notebook import read_cells
from samerun.runs.schema import PHASES
from samerun.sources.catalogue import find_sources

ALL = load()
FAULTY = [case for case in ALL if not case.clean]

# Every source that a script can make differ from run to run on one machine without a GPU.
ON_A_CPU = {
    "python-random",
    "numpy-global",
    "numpy-generator",
    "torch-cpu",
    "os-entropy",
    "worker-seeds",
    "worker-arrival",
    "hash-seed",
    "listing-order",
    "thread-scheduling",
    "nondeterministic-kernels",
    "mkl-first-call",
    "uninitialized-memory",
    "memory-address",
    "clock",
    "process-id",
    "input-data",
    "resume-state",
}


def of(cases: list[Case]):
    return pytest.mark.parametrize("case", cases, ids=lambda case: case.name)


def marked(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.suffix in COMMENTED]


def notebooks(folder: Path) -> list[Path]:
    return list(folder.rglob("*.ipynb"))


def test_it_is_as_large_as_it_must_be():
    assert len(FAULTY) >= 40
    assert sum(case.clean for case in ALL) >= 8
    assert len({case.hard for case in FAULTY} - {None}) >= 6
    assert sum(len(case.faults) > 1 for case in FAULTY) >= 5


def test_every_source_of_a_cpu_is_there():
    assert {fault.source for case in FAULTY for fault in case.faults} >= ON_A_CPU


@of(ALL)
def test_its_words_have_a_meaning(case):
    known = set(find_sources())
    for fault in case.faults:
        assert set(fault.sources) <= known
        assert set(fault.phase) <= set(PHASES)
        assert fault.mend or fault.environment or not fault.mendable


@of(ALL)
def test_each_fault_has_its_lines_and_each_line_its_fault(case, tmp_path):
    lines = copy(case, tmp_path / "copy")
    assert {line.source for line in lines} == {fault.source for fault in case.faults}


@of(ALL)
def test_nothing_in_the_copy_gives_the_fault_away(case, tmp_path):
    copy(case, tmp_path / "copy")
    assert not (tmp_path / "copy" / "truth.toml").exists()
    for path in (*marked(tmp_path / "copy"), *notebooks(tmp_path / "copy")):
        text = path.read_text()
        assert "# fault" not in text
        assert "drawn from" not in text
        assert case.name not in text


@of(ALL)
def test_each_script_says_what_it_is_drawn_from(case):
    # A notebook has no first line: its truth says it.
    places = [case.folder / "truth.toml"] if notebooks(case.folder) else marked(case.folder)
    assert sum(path.read_text().startswith("# drawn from: ") for path in places) == 1


@of(FAULTY)
def test_each_mend_applies_and_leaves_a_script(case, tmp_path):
    copy(case, tmp_path / "copy")
    for fault in case.faults:
        mend(tmp_path / "copy", fault)
    for path in (tmp_path / "copy").rglob("*.py"):
        ast.parse(path.read_text())
    for path in notebooks(tmp_path / "copy"):
        assert all(cell.source.strip() for cell in read_cells(path))


def test_a_mend_that_does_not_fit_is_refused(tmp_path):
    case = next(case for case in FAULTY if case.faults[0].mend)
    copy(case, tmp_path / "copy")
    mend(tmp_path / "copy", case.faults[0])
    with pytest.raises(ValueError, match="needs it once"):
        for _ in range(2):  # what was replaced is not there again
            mend(tmp_path / "copy", case.faults[0])


def test_a_key_without_meaning_is_refused(tmp_path):
    (tmp_path / "truth.toml").write_text('style = ["loop"]\nthreds = 2\n')
    with pytest.raises(ValueError, match="threds"):
        read(tmp_path)


def test_lines_are_those_of_the_copy_and_of_the_whole_statement(tmp_path):
    text = (
        "# drawn from: x\nimport random\nvalue = max(\n    random.random(),  # fault: python-random\n    0)\n"
    )
    stripped, marked = strip(text)
    assert stripped.splitlines()[2] == "    random.random(),"
    assert marked == [("python-random", 3)]
    (tmp_path / "case").mkdir()
    (tmp_path / "case" / "train.py").write_text(text)
    case = Case("case", tmp_path / "case", (), ())
    assert [line.number for line in copy(case, tmp_path / "copy")] == [2, 3, 4]


def test_lines_may_lie_in_any_file_of_a_case_that_a_command_starts(tmp_path):
    case = Case("case", tmp_path / "case", (), (), command=("bash", "launch.sh"))
    (case.folder / "lib").mkdir(parents=True)
    (case.folder / "launch.sh").write_text(
        "# drawn from: x\nset -e\npython -m lib.train $RANDOM  # fault: environment\n"
    )
    (case.folder / "lib" / "train.py").write_text("import sys\nprint(sys.argv[1])  # fault: arguments\n")
    lines = copy(case, tmp_path / "copy")
    assert set(lines) == {Line("environment", "launch.sh", 2), Line("arguments", "train.py", 2)}
    done = subprocess.run(command(case), cwd=tmp_path / "copy", env=environment(case), capture_output=True)
    assert done.stdout.strip().isdigit()


def test_lines_of_a_notebook_are_those_of_its_cells_and_of_what_they_write(tmp_path):
    case = Case("case", tmp_path / "case", (), (), command=("train.ipynb",))
    case.folder.mkdir()
    cells = [
        "a = 1",
        "",
        "%%time\nb = set()  # fault: hash-seed",
        "%%writefile lib.py\nx = 1\ny = id(x)  # fault: code",
    ]
    (case.folder / "train.ipynb").write_text(write_notebook(*cells))
    assert copy(case, tmp_path / "copy") == [
        Line("hash-seed", "train.ipynb[2]", 2),
        Line("code", "lib.py", 2),
    ]
    assert "fault" not in (tmp_path / "copy" / "train.ipynb").read_text()


def test_of_a_loop_only_the_head_is_meant(tmp_path):
    text = "for name in names:  # fault: listing-order\n    use(name)\n    use(name)\n"
    (tmp_path / "case").mkdir()
    (tmp_path / "case" / "train.py").write_text(text)
    assert [line.number for line in copy(Case("case", tmp_path / "case", (), ()), tmp_path / "copy")] == [1]


def test_every_folder_is_a_case_and_every_mark_is_read():
    folders = {path.relative_to(CASES).parts[0] for path in (*marked(CASES), *notebooks(CASES))}
    assert folders == {case.name for case in ALL}
    for path in marked(CASES):
        for line in path.read_text().splitlines():
            assert ("# fault" in line) == bool(MARK.search(line)), f"{path}: {line}"
