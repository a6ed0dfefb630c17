"""Real notebooks in real kernels."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import pytest
from notebooks import write_notebook
from trainer import Trainer

from samerun.errors import UsageError
from samerun.launching.command import check_command
from samerun.runs.plan import Control

pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")

TRAINING = """
import torch
model = torch.nn.Linear(2, 1)
def step():
    model(torch.rand(4, 2)).sum().backward()
    for p in model.parameters():
        p.data, p.grad = p.data - 0.1 * p.grad, None
"""


@pytest.fixture
def trainer(tmp_path: Path) -> Trainer:
    folder = tmp_path / "work"
    folder.mkdir()
    return Trainer(folder)


def test_a_notebook_is_run_and_recorded(trainer: Trainer) -> None:
    """Its lines are those of its cells, below a magic too; its file stays as it is, and no other is left."""
    (trainer.folder / "nb").mkdir()
    path = trainer.folder / "nb" / "train.ipynb"
    path.write_text(
        write_notebook(
            "import sys, uuid",
            TRAINING,
            "",
            "%%time\nprint('begins')\nfor _ in range(2):\n    step()\nprint('loss', uuid.uuid4())",
            "print(uuid.uuid4(), file=sys.stderr)\n'shown'",
        )
    )
    before = path.read_bytes()
    run = trainer.record("nb/train.ipynb")
    assert (run.manifest.outcome, run.manifest.exit_code, list(run.traces())) == ("finished", 0, ["rank0"])
    output = (run.path / "output.txt").read_text()
    assert output.index("begins") < output.index("loss") < output.index("'shown'")
    assert path.read_bytes() == before
    assert sorted(item.name for item in trainer.folder.rglob("*") if ".samerun" not in item.parts) == [
        "nb",
        "train.ipynb",
    ]
    assert [row.call_site for row in trainer.rows(run, "entropy")] == [
        "nb/train.ipynb[3]:5",
        "nb/train.ipynb[4]:1",
    ]
    # What the kernel does with what cells print is none of the script's doing.
    assert trainer.rows(run, "clock") == trainer.rows(run, "identity") == []


SHOWN = """\
from IPython.display import HTML, Markdown, display
class Page:
    def _repr_html_(self):
        return "<style>p {}</style><p>mean <b>0.5</b></p>\\n<table><tr><td>a</td><td>1</td></tr></table>"
display(HTML("<b>accuracy</b>: 0.25"), Markdown("**f1** 0.75"), "text")
Page()
"""


def test_what_a_notebook_shows_is_printed_as_what_it_says(trainer: Trainer) -> None:
    (trainer.folder / "train.ipynb").write_text(write_notebook("0.5", "", "'one\\ntwo'\n[1]", SHOWN, "1;"))
    run = trainer.record("train.ipynb")
    shown = ["Out[1]: 0.5", "Out[2]: [1]", "accuracy: 0.25", "**f1** 0.75", "'text'"]
    page = ["Out[3]:", "mean 0.5", "a 1"]
    assert (run.path / "output.txt").read_text().splitlines() == [*shown, *page]


def test_what_the_kernel_draws_as_it_starts_counts_for_nothing(trainer: Trainer) -> None:
    """IPython draws tips from `random`, as often as it is asked what it is."""
    shown = "import random; print('drawn', random.random())"
    (trainer.folder / "train.ipynb").write_text(write_notebook(shown))
    trainer.script(shown)
    drawn = [
        (trainer.record(name, control=Control()).path / "output.txt").read_text()
        for name in ("train.ipynb", "train.py")
    ]
    assert drawn[0] == drawn[1]


def test_the_names_of_the_kernel_are_as_without_us(trainer: Trainer) -> None:
    """`_` is what was shown last, which IPython keeps up as long as nobody else sets it."""
    cells = "names = [name for name in dir() if 'each' in name]", "40 + 2", "print('last', _, names)"
    (trainer.folder / "train.ipynb").write_text(write_notebook(*cells))
    run = trainer.record("train.ipynb", control=Control())
    assert "last 42 []" in (run.path / "output.txt").read_text()


def test_a_seed_of_the_users_startup_file_stays(trainer: Trainer, tmp_path: Path) -> None:
    startup = tmp_path / "profile_default" / "startup"
    startup.mkdir(parents=True)
    (startup / "seed.py").write_text("import random; random.seed(3)")
    shown = "import random; print(random.getstate()[1][:3])"
    (trainer.folder / "train.ipynb").write_text(write_notebook(shown))
    run = trainer.record("train.ipynb", control=Control(), env={"IPYTHONDIR": str(tmp_path)})
    seeded = random.Random(3)
    first = seeded.getstate()[1][:3]
    seeded.random()  # makes the next 624 words, of which the tips take some
    assert (run.path / "output.txt").read_text().strip() in (str(first), str(seeded.getstate()[1][:3]))


@pytest.mark.slow
def test_the_record_is_whole_though_the_kernel_waits_for_processes_and_is_killed(trainer: Trainer) -> None:
    """As environments that a cell has started, which wait for the next step."""
    start = (
        "import multiprocessing, time\nfor _ in range(3):\n"
        "    multiprocessing.Process(target=time.sleep, args=(99,), daemon=True).start()"
    )
    (trainer.folder / "train.ipynb").write_text(write_notebook(start, TRAINING, "step()\nstep()"))
    run = trainer.record("train.ipynb")
    assert run.manifest.outcome == "finished"
    assert [row.name for row in trainer.rows(run, "end")] == ["finished"]
    assert len(trainer.rows(run, "parameters")) >= 2


def test_the_kernel_is_not_interrupted_when_it_is_to_end(trainer: Trainer) -> None:
    """One that was still at the end of its last message wrote "KeyboardInterrupt caught" into the output."""
    (trainer.folder / "train.ipynb").write_text(
        write_notebook(
            "from pathlib import Path\nimport ipykernel.kernelbase\n"
            "ipykernel.kernelbase.default_int_handler = lambda *_: Path('interrupted').touch()\n"
            "get_ipython().kernel.post_handler_hook = lambda: None  # its handler stays after a message",
            "print('ends')",
        )
    )
    assert trainer.record("train.ipynb").manifest.outcome == "finished"
    assert not (trainer.folder / "interrupted").exists()


def test_a_cell_that_raises_ends_it(trainer: Trainer) -> None:
    (trainer.folder / "train.ipynb").write_text(
        write_notebook("a = 1", "print(a)\nraise ValueError('wrong')", "print('on')")
    )
    run = trainer.record("train.ipynb")
    output = (run.path / "output.txt").read_text()
    assert (run.manifest.outcome, run.manifest.exit_code) == ("failed", 1)
    assert output.startswith("1\n") and output.rstrip().endswith("ValueError: wrong")
    assert "\x1b" not in output and "\non\n" not in output


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (["none.ipynb"], "'none.ipynb' cannot be read: No such file"),
        (["broken.ipynb"], "'broken.ipynb' cannot be read: "),
        (["empty.ipynb"], "'empty.ipynb' has no code in it"),
        (["train.ipynb", "--epochs", "3"], "takes no arguments; '--epochs 3' was given"),
    ],
)
def test_what_cannot_be_run_is_refused_at_once(tmp_path: Path, command: list[str], said: str) -> None:
    (tmp_path / "broken.ipynb").write_text("{")
    (tmp_path / "empty.ipynb").write_text(write_notebook("", " \n"))
    (tmp_path / "train.ipynb").write_text(write_notebook("a = 1"))
    with pytest.raises(UsageError, match=said):
        check_command(command, tmp_path, {})
    check_command(["train.ipynb"], tmp_path, {})


def test_what_is_missing_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "train.ipynb").write_text(write_notebook("a = 1"))
    monkeypatch.setitem(sys.modules, "nbclient", None)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None if name == "nbclient" else object())
    with pytest.raises(UsageError, match="nbclient must be installed beside samerun: pip install"):
        check_command(["train.ipynb"], tmp_path, {})
