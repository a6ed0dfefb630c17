"""Trainings that are killed and resumed: an imaginary one that takes no time, and two real scripts."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from samerun.digest import algorithms, combine, digest_bytes
from samerun.launching.launch import LaunchRequest
from samerun.launching.marker_files import PYTHON_SEEN, TORCH_SEEN
from samerun.launching.progress_files import Progress
from samerun.launching.workspace import Workspace
from samerun.runs.manifest import Manifest
from samerun.runs.plan import Plan
from samerun.runs.record import Record
from samerun.runs.schema import SCHEMA
from samerun.runs.store import Run
from samerun.runs.trace import TraceWriter

from .calls import prepare

EPOCH = 10  # steps


@dataclass
class Training:
    """Stands in for launching.run.record: writes real runs of a training that goes on from what it left.

    Runs are numbered from 1 as they are recorded. "resume" on the command line makes it look for a
    checkpoint; the other words there are what it does not restore.
    """

    steps: int = 20
    every: int = 1  # steps from checkpoint to checkpoint; 0: none
    parts_at: dict[int, int] = field(default_factory=dict)  # run: the step whose batch is another
    fails_at: dict[int, int] = field(default_factory=dict)
    interrupted: int | None = None
    left_in: Path | None = None  # where checkpoints are kept, when not in the working directory
    calls: list[dict[str, Any]] = field(default_factory=list)

    def record(self, request: LaunchRequest, plan: Plan, at: Workspace) -> Run:
        """As launching.run.record."""
        with prepare(request, plan, at) as how:
            self.calls.append(how)
            return _Play(self, len(self.calls), at.store.create(), how).run()


class _Play:
    def __init__(self, training: Training, number: int, path: Path, how: dict[str, Any]) -> None:
        self.training = training
        self.number = number
        self.path = path
        self.how = how
        self.command: list[str] = how["command"]
        self.checkpoint = (training.left_in or how["copy"]) / "last.json"
        self.writer: TraceWriter | None = None
        self.done = 0  # by this process
        self.at = 0
        self.weights, self.momentum = "start", "none"

    def run(self) -> Run:
        (self.path / PYTHON_SEEN).touch()
        (self.path / TORCH_SEEN).touch()
        self._restore()
        outcome = self._train()
        if self.writer is not None:
            self.writer.close()
        (self.path / "output.txt").write_text("ValueError: no data\n" if outcome == "failed" else "done\n")
        Manifest(
            id=self.path.name,
            command=tuple(self.command),
            cwd=str(self.how["cwd"]),
            started="2026-11-01T12:00:00.000+00:00",
            outcome=outcome,  # type: ignore[arg-type]
            duration_s=1.0,
            exit_code={"finished": 0, "failed": 1}.get(outcome, -9),
            steps=self.done,
            plan={key: self.how[key] for key in ("tier", "window", "stop_after")},
        ).write(self.path)
        self.how["on_progress"](Progress(self.done or None, 0.5, 1.0))
        return Run(self.path)

    def _restore(self) -> None:
        if "resume" not in self.command or not self.checkpoint.exists():
            return
        self._row(0, "setup", "opened", "open", None, detail=self._shown())
        kept = json.loads(self.checkpoint.read_text())
        self.at = kept["step"]
        if "weights" not in self.command:
            self.weights = kept["weights"]
        if "momentum" not in self.command:
            self.momentum = kept["momentum"]

    def _train(self) -> str:
        training, stop = self.training, self.how["stop_after"]
        if training.interrupted == self.number:
            return "interrupted"
        self._row(0, "setup", "parameters", "SGD", self.weights)
        while self.at < training.steps:
            if training.fails_at.get(self.number) == self.at:
                self._row(self.done, "end", "end", "raised ValueError", str(self.done))
                return "failed"
            self._data()
            if stop is not None and self.done > stop:
                self._row(self.done, "optimizer", "stopped", None, None)
                return "stopped"
            self._update()
        self._row(max(self.done - 1, 0), "end", "end", "finished", str(self.done))
        return "finished"

    def _data(self) -> None:
        index = self.at - EPOCH * ("position" in self.command and self.done == 0 and self.at >= EPOCH)
        other = self.training.parts_at.get(self.number) == self.at
        detail = json.dumps({"workers": 0, "samples": 4, "batch": index % EPOCH + 1})
        self._row(self.done, "data", "indices", "Data", f"indices {index}", detail=detail, inputs=index)
        self.batch = f"batch {index}" + " other" * other
        self._row(self.done, "data", "batch", "Data", self.batch)
        self._row(self.done, "data", "input", "Net", self.batch)
        loss = f"{self.weights}{self.batch}"
        self._row(self.done, "forward", "loss", "backward", loss, value=float(len(self.batch)))

    def _update(self) -> None:
        self._row(self.done, "optimizer", "gradients", "SGD", f"{self.weights}{self.batch}")
        self.momentum = _short(self.momentum, self.batch)
        self.weights = _short(self.weights, self.momentum)
        self._row(self.done, "optimizer", "parameters", "SGD", self.weights)
        self._row(self.done, "optimizer", "optimizer", "SGD", self.momentum)
        self.done += 1
        self.at += 1
        if self.training.every and self.at % self.training.every == 0:
            self._row(self.done, "forward", "written", "torch.save", None, detail=self._shown())
            self._row(self.done, "forward", "saved", "last.json", self.weights)
            state = {"step": self.at, "weights": self.weights, "momentum": self.momentum}
            self.checkpoint.write_text(json.dumps(state))

    def _shown(self) -> str:
        return "last.json" if self.training.left_in is None else str(self.checkpoint)

    def _row(
        self, step: int, phase: str, what: str, name: str | None, content: str | None, **more: Any
    ) -> None:
        if self.writer is None:
            meta = {
                "schema": SCHEMA,
                "digests": algorithms(),
                "tier": "steps",
                "stem": "rank0",
                "rank": 0,
                "role": "",
                "pair": f"0||{' '.join(self.command)}|0",
                "world_size": 1,
            }
            self.writer = TraceWriter(self.path / "rank0.trace.arrow", meta)
        digest = None if content is None else digest_bytes(content.encode())
        if what in ("parameters", "gradients", "optimizer") and digest is not None:
            more["parts"] = digest
            digest = combine([digest])
        self.writer.append(Record(step, phase, what, name, digest=digest, **more))


def _short(*parts: str) -> str:
    return digest_bytes("|".join(parts).encode()).hex()


# Keeps all that it needs in last.pt every two steps, in the midst of epochs of ten; each word on its command
# line after "resume" is something that it does not restore.
SCRIPT = """\
import os, random, sys, torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

class Points(Dataset):
    x = torch.randn(40, 8, generator=torch.Generator().manual_seed(1))
    def __len__(self): return 40
    def __getitem__(self, n): return self.x[n] + 0.1 * random.random()

class Order:
    epoch = start = 0
    def __iter__(self):
        generator = torch.Generator().manual_seed(1000 + self.epoch)
        yield from torch.randperm(40, generator=generator).tolist()[self.start:]

torch.manual_seed(0); random.seed(0); torch.set_num_threads(1)
model = nn.Sequential(nn.Linear(8, 16), nn.BatchNorm1d(16), nn.Dropout(0.3), nn.Linear(16, 1))
optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 3, 0.7)
order = Order()
loader = DataLoader(Points(), batch_size=4, sampler=order)
kept, step, words = None, 0, set(sys.argv[1:])
if "resume" in words and os.path.exists("last.pt"):
    kept = torch.load("last.pt", weights_only=False)
    if "flip" in words: kept["model"]["0.weight"].numpy().view("int32")[3, 5] ^= 1 << 16
    if "buffers" in words: kept["model"] = {k: v for k, v in kept["model"].items() if "running" not in k}
    model.load_state_dict(kept["model"], strict=False)
    if "optimizer" not in words: optimizer.load_state_dict(kept["optimizer"])
    if "scheduler" in words: optimizer.param_groups[0]["lr"] = 0.01
    else: scheduler.load_state_dict(kept["scheduler"])
    step = kept["step"]
while step < 24:
    order.epoch, order.start = step // 10, step % 10 * 4
    if kept and "order" in words: order.epoch += 100
    if kept and words & {"position", "skip"}: order.start = 0
    batches = iter(loader)
    if kept:
        for _ in range(step % 10 if "skip" in words else 0): next(batches)
        if "torch" not in words: torch.set_rng_state(kept["torch"])
        if "python" not in words: random.setstate(kept["python"])
        kept = None
    for x in batches:
        loss = model(x).pow(2).mean()
        optimizer.zero_grad(); loss.backward(); optimizer.step(); scheduler.step()
        step += 1
        if step % 2 == 0:
            state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": step}
            state.update(scheduler=scheduler.state_dict(), torch=torch.get_rng_state())
            torch.save({**state, "python": random.getstate()}, "new.pt")
            os.replace("new.pt", "last.pt")
        if step == 24: break
        if "betas" in words and step == 14: optimizer.param_groups[0]["betas"] = 0.8, 0.99
"""

# Accumulates the gradients of two batches, scales the loss, averages the weights; keeps a checkpoint every
# three batches, so that one in two is written in the middle of a step.
ACCUMULATES = """\
import copy, sys, torch
from torch import nn
words = set(sys.argv[1:])
torch.manual_seed(0); torch.set_num_threads(1)
model = nn.Linear(8, 1)
average = copy.deepcopy(model)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
scaler = torch.amp.GradScaler("cpu", init_scale=64.0, growth_interval=3)
data = torch.randn(64, 4, 8, generator=torch.Generator().manual_seed(1))
start, end = 0, 24
if "resume" in words:
    kept = torch.load("last.pt", weights_only=True)
    model.load_state_dict(kept["model"])
    if "average" not in words: average.load_state_dict(kept["average"])
    if "scaler" not in words: scaler.load_state_dict(kept["scaler"])
    if "gradients" not in words:
        for parameter, gradient in zip(model.parameters(), kept["gradients"]): parameter.grad = gradient
    start = kept["n"]
    if "counter" in words: end += start
for n in range(start, end):
    loss = model(data[n]).pow(2).mean() / 2
    scaler.scale(loss).backward()
    if n % 2:
        scaler.step(optimizer); scaler.update(); optimizer.zero_grad()
        with torch.no_grad():
            for a, b in zip(average.parameters(), model.parameters()): a.lerp_(b, 0.1)
    if n % 3 == 2:
        state = {"model": model.state_dict(), "average": average.state_dict(), "n": n + 1}
        gradients = [parameter.grad for parameter in model.parameters()]
        torch.save({**state, "scaler": scaler.state_dict(), "gradients": gradients}, "last.pt")
    if n % 8 == 7:
        with torch.no_grad(): average(data[0])
"""
