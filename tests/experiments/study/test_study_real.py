"""`study` on real commands: its streams, its tasks, and the places where they are carried out.

Covers `launchers/local.py`, `launchers/on_ray.py` and `mlflow.py`.
"""

from __future__ import annotations

import os
import signal
import socket
import statistics
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from trainer import EXAMPLES, Trainer

from samerun.experiments.study.launchers import local
from samerun.experiments.study.result import StudyResult
from samerun.experiments.study.study import StudyRequest, study
from samerun.experiments.study.tasks import Task, TaskResult, carry_out
from samerun.report.text.study import describe_sum

pytestmark = pytest.mark.timeout(3600)
SMALL = """
    import numpy as np
    import torch
    from torch import nn
    torch.manual_seed(0)
    x = torch.linspace(-3, 3, 40)[:, None]
    net = nn.Linear(1, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    for _ in range(3):
        loss = (net(x) - x).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"loss {loss.item():.9f}")
"""
NO_TORCH = """
    import os, sys, time
    print("loss", 1.5)
"""
IDS = ("initialisation", "data-order", "dropout", "worker-seeds", "numpy-global", "torch-cpu")


def task(trainer: Trainer, **seeds: int) -> Task:
    values = {**dict.fromkeys(IDS, 0), **{name.replace("_", "-"): seed for name, seed in seeds.items()}}
    command = (sys.executable, "train.py")
    return Task(command, str(trainer.folder), str(trainer.store.root), r"loss ([\d.]+)", values)


@pytest.mark.slow
def test_a_task_reads_its_metric_and_its_seeds_decide(trainer: Trainer) -> None:
    """The representative: the whole studies are slow."""
    trainer.script(SMALL)
    tasks = [task(trainer), task(trainer, dropout=1), task(trainer, initialisation=1)]
    done = {item.key: item for item in local.carry_out_all(tasks, 2)}
    base, idle, moved = (done[item.key] for item in tasks)
    assert base.value is not None, base.reason
    assert (idle.value, idle.fingerprint) == (base.value, base.fingerprint)
    assert moved.value != base.value
    assert moved.fingerprint != base.fingerprint


def test_a_task_without_its_metric_says_why(trainer: Trainer) -> None:
    trainer.script("print('nothing to see')\n")
    done = carry_out(task(trainer))
    assert done.value is None
    assert "matches nothing" in str(done.reason)


def test_a_metric_in_a_file_needs_a_folder_for_each_run(trainer: Trainer) -> None:
    trainer.script("open('score.txt', 'w').write('2.5')\n")
    done = carry_out(replace(task(trainer), metric="file:score.txt", scratch=True))
    assert done.value == 2.5
    assert not (trainer.folder / "score.txt").exists()


# --- whole studies -----------------------------------------------------------------------------------


def studied(trainer: Trainer, *words: str, metric: str, seeds: int = 20, **asked: Any) -> StudyResult:
    wanted = StudyRequest(
        (sys.executable, *words), trainer.folder, trainer.store.root, metric, seeds, threads=1, **asked
    )
    return study(wanted, lambda tasks: local.carry_out_all(tasks, 2))


@pytest.mark.slow
def test_the_digits_cnn_with_twenty_seeds_a_source(trainer: Trainer) -> None:
    (trainer.folder / "train.py").write_text((EXAMPLES / "digits_cnn.py").read_text())
    words = ("train.py", "--epochs", "1", "--workers", "0")
    result = studied(trainer, *words, metric=r"loss ([\d.]+)", higher_is_better=False)
    assert result.complete, result.notes
    in_play = {source.source for source in result.sources if source.in_play}
    assert {"initialisation", "data-order", "dropout", "worker-seeds", "numpy-global"} <= in_play
    assert "python-random" not in in_play  # it is drawn from in samples alone
    assert result.total is not None
    assert result.together is not None
    print(result.to_json()["sum"])
    # Weighed again from the values alone: one source at a time, and all of them together.
    alone = [statistics.variance(source.values) for source in result.sources if source.in_play]
    assert all(variance > 0 for variance in alone)
    together = statistics.variance(result.together.values)
    assert result.total.parts == pytest.approx(sum(alone))
    assert result.total.together == pytest.approx(together)
    # They add up, or the interaction is reported: both are answers, silence is not.
    beyond = together - sum(alone)
    assert result.total.low < beyond < result.total.high
    if result.total.low <= 0 <= result.total.high:
        assert "add up to" in describe_sum(result)
    else:
        assert f"variance is {'more' if beyond > 0 else 'less'} than the sum of each" in describe_sum(result)


@pytest.mark.slow
def test_where_the_initial_weights_are_all_the_luck_there_is_no_other(trainer: Trainer) -> None:
    trainer.script(SMALL)
    result = studied(trainer, "train.py", metric=r"loss ([\d.]+)", seeds=6)
    assert result.complete, result.notes
    for source in result.sources:
        assert source.in_play is (source.source == "initialisation")
        assert source.spread is not None
        assert (source.spread.variance > 0) is (source.source == "initialisation")


# --- Ray ---------------------------------------------------------------------------------------------

SLOW_TASK = """
    import os, pathlib, time
    pathlib.Path("pids").mkdir(exist_ok=True)
    (pathlib.Path("pids") / str(os.getpid())).touch()
    time.sleep(3)
    print("loss", 1.5)
"""


@pytest.mark.slow
def test_a_worker_killed_in_the_middle_loses_no_result(trainer: Trainer) -> None:
    ray = pytest.importorskip("ray")
    import psutil

    from samerun.experiments.study.launchers import on_ray

    trainer.script(SLOW_TASK)
    tasks = [task(trainer, initialisation=seed) for seed in range(4)]
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="error")
    try:
        results: dict[str, TaskResult] = {}
        killed: list[int] = []
        import threading

        def kill_one() -> None:
            until = time.monotonic() + 120
            while time.monotonic() < until and not killed:
                for path in (trainer.folder / "pids").glob("*") if (trainer.folder / "pids").exists() else ():
                    for process in _above(psutil, int(path.name)):
                        if process.name().startswith("ray::"):
                            process.kill()
                            killed.append(process.pid)
                            return
                time.sleep(0.1)

        thread = threading.Thread(target=kill_one)
        thread.start()
        for done in on_ray.carry_out_all(tasks, None):
            results[done.key] = done
        thread.join()
        assert killed, "no worker was found to kill"
        assert {item.key for item in tasks} == set(results)
        assert all(done.value == 1.5 for done in results.values()), results
    finally:
        ray.shutdown()


def _above(psutil: Any, pid: int) -> list[Any]:
    try:
        return list(psutil.Process(pid).parents())
    except psutil.NoSuchProcess:
        return []


def test_a_cluster_that_is_not_there_is_one_line(trainer: Trainer) -> None:
    pytest.importorskip("ray")
    from samerun.errors import UsageError
    from samerun.experiments.study.launchers import on_ray

    with pytest.raises(UsageError, match="no Ray cluster at"):
        list(on_ray.carry_out_all([task(trainer)], f"127.0.0.1:{_free_port()}"))


# --- MLflow ------------------------------------------------------------------------------------------


@pytest.fixture
def server(tmp_path: Path) -> Iterator[str]:
    pytest.importorskip("mlflow")
    port = _free_port()
    process = subprocess.Popen(
        [
            sys.executable, "-m", "mlflow", "server", "--host", "127.0.0.1", "--port", str(port),
            "--workers", "1",
            "--backend-store-uri", f"sqlite:///{tmp_path / 'mlflow.db'}",
            "--default-artifact-root", str(tmp_path / "artifacts"),
        ],
        start_new_session=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )  # fmt: skip
    uri = f"http://127.0.0.1:{port}"
    try:
        until = time.monotonic() + 300
        while time.monotonic() < until:
            try:
                with urllib.request.urlopen(f"{uri}/health", timeout=5):
                    break
            except OSError:
                time.sleep(1)
        yield uri
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(60)


@pytest.mark.slow
def test_results_go_to_mlflow_once(server: str, trainer: Trainer) -> None:
    from mlflow import MlflowClient

    from samerun.experiments.study.mlflow import EXPERIMENT, Tracking

    done = [TaskResult(f"key {n}", 1.5 + n, f"run {n}", "bits", 2.0) for n in range(3)]
    tasks = [task(trainer, initialisation=n) for n in range(3)]
    for _ in range(2):  # a second study knows what the first one sent
        tracking = Tracking(server)
        for item, result in zip(tasks, done, strict=True):
            tracking.log(item, result)
    client = MlflowClient(tracking_uri=server)
    experiment = client.get_experiment_by_name(EXPERIMENT)
    runs = client.search_runs([experiment.experiment_id])
    assert sorted(run.data.metrics["metric"] for run in runs) == [1.5, 2.5, 3.5]
    assert {run.data.params["seed.initialisation"] for run in runs} == {"0", "1", "2"}
    assert {run.data.tags["samerun.run"] for run in runs} == {"run 0", "run 1", "run 2"}


@pytest.mark.slow
def test_a_server_that_is_not_there_is_one_line() -> None:
    pytest.importorskip("mlflow")
    from samerun.errors import UsageError
    from samerun.experiments.study.mlflow import Tracking

    os.environ["MLFLOW_HTTP_REQUEST_MAX_RETRIES"] = "0"
    try:
        with pytest.raises(UsageError, match="does not answer"):
            Tracking(f"http://127.0.0.1:{_free_port()}")
    finally:
        del os.environ["MLFLOW_HTTP_REQUEST_MAX_RETRIES"]


def _free_port() -> int:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        return int(server.getsockname()[1])
