"""`lock --statement`: a paragraph for a paper, and the answers to reproducibility checklists."""

from __future__ import annotations

import shlex
from collections.abc import Mapping

from samerun.experiments.lock.roots import ALL
from samerun.report.exports.markup import Latex, Markdown, Markup
from samerun.runs.lock.content import Environment, Lock

FORMS: Mapping[str, type[Markup]] = {"markdown": Markdown, "latex": Latex}
_SHOWN = ("python", "torch", "numpy")
_NOT_KNOWN = "Not known from the lock:"


def write_statement(lock: Lock, form: str) -> str:
    """The whole text, in one of FORMS. What the lock does not know is said to be so."""
    markup = FORMS[form]()
    writer = _Writer(lock, markup)
    return "\n\n".join(
        [
            markup.heading("Reproducibility"),
            writer.write_paragraph(),
            markup.heading("NeurIPS paper checklist"),
            markup.listing(writer.list_answers()),
            markup.heading("ACM artifact review and badging, version 1.1"),
            markup.listing(writer.list_badges()),
        ]
    )


class _Writer:
    """Writes what a lock holds."""

    def __init__(self, lock: Lock, markup: Markup) -> None:
        self._lock = lock
        self._text, self._code = markup.text, markup.code

    def write_paragraph(self) -> str:
        lock = self._lock
        said = [
            f"The command {self._write_command()} was run twice with samerun ({self._write_control()}), and "
            f"both runs gave the same bits in {self._text(', '.join(self._list_quantities()))}, over "
            f"{_count(lock.steps, 'optimizer step')} on {_count(lock.ranks, 'process', 'es')}."
        ]
        for id_, environment in sorted(lock.environments.items()):
            root = environment.root.get(ALL)
            digest = "" if root is None else f" The Merkle root of all digests is {self._code(root)}."
            said.append(f"Environment {self._code(id_)}: {self._write_machine(environment)}.{digest}")
        if lock.left_out:
            left_out = self._text(", ".join(lock.left_out))
            said.append(f"Not locked, since it differs from run to run without effect: {left_out}.")
        said.append(self._write_bounds())
        said.append(f"{self._code('samerun verify')} runs the command again and compares it with the lock.")
        return " ".join(said)

    def list_answers(self) -> list[tuple[str, str]]:
        return [
            ("4. Experimental result reproducibility.", self._answer_results()),
            ("5. Open access to data and code.", self._answer_code()),
            ("6. Experimental setting: splits, hyperparameters, seeds.", self._answer_setting()),
            (
                "7. Statistical significance.",
                f"{_NOT_KNOWN} how results vary. The lock is of one seed, and two runs of it that are equal "
                f"bit for bit say nothing of other seeds; {self._code('samerun study')} measures that.",
            ),
            ("8. Compute resources.", self._answer_compute()),
        ]

    def list_badges(self) -> list[tuple[str, str]]:
        command = self._code("samerun verify")
        return [
            ("Artifacts available.", f"{_NOT_KNOWN} whether the artifact is archived, and under which DOI."),
            (
                "Artifacts evaluated, functional.",
                f"Exercisable: the command ran twice with the same bits. Evidence of verification: {command} "
                f"repeats the comparison. {_NOT_KNOWN} whether the artifact is documented and complete.",
            ),
            ("Artifacts evaluated, reusable.", f"{_NOT_KNOWN} whether others can build on it."),
            (
                "Results reproduced.",
                f"{_NOT_KNOWN} whether others obtained the results: a lock has the runs of its makers. "
                f"{command} gives a reviewer the answer for these bits.",
            ),
            ("Results replicated.", f"{_NOT_KNOWN} whether the results were obtained without this artifact."),
        ]

    def _answer_results(self) -> str:
        lines = []
        for id_, environment in sorted(self._lock.environments.items()):
            metrics = ", ".join(
                f"{name} {value:.9g}" for name, value in sorted(environment.result.metrics.items())
            )
            files = ", ".join(environment.result.list_files())
            loss = environment.result.loss
            found = [] if loss is None else [f"last loss {loss:.9g}"]
            found += [f"metrics {self._text(metrics)}"] if metrics else []
            found += [f"files {self._text(files)}"] if files else []
            what = "; ".join(found) or "no loss, metric or file"
            lines.append(f"locked on environment {self._code(id_)}: {what}")
        return (
            f"{self._write_command()} gives these results, {'; '.join(lines)}. {_NOT_KNOWN} which claims of "
            "the paper rest on them."
        )

    def _answer_code(self) -> str:
        lock = self._lock
        commit = "no commit is locked"
        if lock.code.commit is not None:
            dirty = ", with uncommitted changes" if lock.code.dirty else ""
            commit = f"commit {self._code(lock.code.commit)}{dirty}"
        said = [f"Command: {self._write_command()}; code: {commit}, digest {self._code(lock.code.digest)}"]
        said.append(f"{_count(len(lock.inputs), 'input')} by digest")
        if lock.revisions:
            named = ", ".join(f"{name} at {commits}" for name, commits in sorted(lock.revisions.items()))
            said.append(f"from a hub: {self._text(named)}")
        unknown = "whether code and data are public, where, and under which license"
        return f"{'; '.join(said)}. {_NOT_KNOWN} {unknown}."

    def _answer_setting(self) -> str:
        locked = "indices" in self._lock.portable
        splits = (
            "the sample indices of every batch are locked"
            if locked
            else "no sample indices were recorded, so nothing is known of splits and order"
        )
        return (
            f"Seeds and controls: {self._write_control()}; {splits}. Hyperparameters are those of the "
            f"command, the code and the inputs, which are locked. {_NOT_KNOWN} how they were chosen."
        )

    def _answer_compute(self) -> str:
        machines = "; ".join(self._write_machine(item) for _, item in sorted(self._lock.environments.items()))
        return (
            f"{machines}; {_count(self._lock.ranks, 'process', 'es')}, {_count(self._lock.steps, 'step')}. "
            f"{_NOT_KNOWN} running time, memory, and what other experiments took."
        )

    def _write_command(self) -> str:
        return self._code(shlex.join(self._lock.command))

    def _write_control(self) -> str:
        lock = self._lock
        said = [f"mode {lock.mode}, seed {lock.seed}"]
        if lock.compatible:
            said.append("generators seeded as by torch.manual_seed and its like")
        if lock.control:
            said.append(f"also controlled: {', '.join(lock.control)}")
        return self._text(", ".join(said))

    def _write_machine(self, environment: Environment) -> str:
        machine = ", ".join(f"{name} {value}" for name, value in sorted(environment.machine.items()))
        packages = ", ".join(
            f"{name} {environment.packages[name]}" for name in _SHOWN if name in environment.packages
        )
        said = [part for part in (machine, packages) if part]
        return self._text("; ".join(said) or "nothing is known of the machine")

    def _write_bounds(self) -> str:
        bounds = [item.bounds for item in self._lock.environments.values() if item.bounds is not None]
        if not bounds:
            return "On other classes of machine nothing is known of how far results move."
        worst = max(bounds, key=lambda item: item.loss)
        return (
            f"Where bits cannot be equal, losses moved by at most {worst.loss:.2g} (relative), measured with "
            f"{self._text(', '.join(worst.factors))}."
        )

    def _list_quantities(self) -> list[str]:
        return sorted({name for item in self._lock.environments.values() for name in item.root} - {ALL})


def _count(number: int, one: str, plural: str = "s") -> str:
    return f"{number:,} {one}{'' if number == 1 else plural}"
