"""`vary` on real trainings gives the table of what is known to change the bits of torch 2.13 on CPU."""

from __future__ import annotations

import platform
import sys
from collections.abc import Callable, Mapping

import pytest
import torch
from trainer import EXAMPLES, Trainer

from samerun.experiments.request import Request
from samerun.experiments.vary.result import VaryResult
from samerun.experiments.vary.vary import VaryRequest, vary

SEEDED = """
    import os, random
    import numpy as np
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, Dataset

    torch.manual_seed(0)
    torch.set_num_threads({threads})
    class Data(Dataset):
        def __len__(self):
            return 64
        def __getitem__(self, index):
            g = torch.Generator().manual_seed(index)
            x = torch.randn(40, generator=g)
            if {augmented}:
                x = x + 0.1 * torch.randn(40)
            return x, index % 4
    net = {net}
    loader = DataLoader(Data(), batch_size=32, shuffle=True, num_workers={workers})
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
    for epoch in range(2):
        for x, y in loader:
            loss = nn.functional.cross_entropy(net(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    print(loss.item())
"""
MLP = "nn.Sequential(nn.Linear(40, 64), nn.Tanh(), nn.Linear(64, 4))"
CONVOLUTIONS = (
    "nn.Sequential(nn.Unflatten(1, (1, 5, 8)), nn.Conv2d(1, 16, 3), nn.BatchNorm2d(16), nn.ReLU(), "
    "nn.Flatten(), nn.Linear(16 * 18, 4))"
)
pytestmark = pytest.mark.timeout(900)


def script(
    trainer: Trainer, net: str = MLP, threads: int = 1, workers: int = 0, augmented: bool = False
) -> None:
    trainer.script(SEEDED.format(net=net, threads=threads, workers=workers, augmented=augmented))


def varied(trainer: Trainer, *factors: str, **asked: object) -> VaryResult:
    request = Request((sys.executable, "train.py"), trainer.folder, trainer.store, timeout=600)
    return vary(request, VaryRequest(factors, **asked))  # type: ignore[arg-type]


def verdicts(result: VaryResult) -> Mapping[str, str]:
    assert result.effects, result.reason
    return {effect.variant: effect.verdict for effect in result.effects}


@pytest.mark.slow
def test_the_order_of_a_set_of_words_is_found(trainer: Trainer, monkeypatch: pytest.MonkeyPatch) -> None:
    """The representative of what `make thorough` runs in full."""
    monkeypatch.setenv("PYTHONHASHSEED", "0")
    trainer.script(
        """
        import torch
        torch.manual_seed(0)
        words = {"ant", "bee", "cat", "dog", "eel", "fox", "gnu", "hen"}
        weights = torch.tensor([float(len(word) + ord(word[0])) for word in words]) / 200
        net = torch.nn.Linear(8, 1)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(2):
            loss = net(weights).sum() ** 2
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        """
    )
    result = varied(trainer, "hash-seed", "hostname", first=True)
    assert (result.verdict, result.mode) == ("differs", None)
    effect = result.dependences()[0]
    assert effect.source == "hash-seed"
    assert effect.difference is not None
    assert effect.difference.step == 0
    assert effect.size.loss_ulps


@pytest.mark.slow
def test_worker_count_and_kept_workers_change_augmentations_and_prefetching_does_not(
    trainer: Trainer,
) -> None:
    script(trainer, workers=2, augmented=True)
    result = varied(trainer, "worker-count", "persistent-workers", "prefetch", "extra-loader")
    assert result.mode is None  # seeded, it repeats by itself
    assert {effect.source for effect in result.dependences()} == {
        "worker-count",
        "persistent-workers",
        "extra-loader",
    }
    assert {effect.verdict for effect in result.effects if effect.source == "prefetch"} == {"same"}


@pytest.mark.slow
def test_without_augmentation_the_worker_count_does_nothing(trainer: Trainer) -> None:
    script(trainer, workers=2)
    assert set(verdicts(varied(trainer, "worker-count")).values()) == {"same"}


@pytest.mark.slow
@pytest.mark.skipif(platform.machine() != "x86_64", reason="of x86-64")
def test_the_instruction_sets_of_aten_change_the_initial_weights(trainer: Trainer) -> None:
    script(trainer)
    if torch.backends.cpu.get_cpu_capability() == "DEFAULT":
        pytest.skip("this machine has no vectors to do without")
    result = varied(trainer, "cpu-isa")
    assert verdicts(result)["ATen: default"] == "differs"
    aten = next(effect for effect in result.effects if effect.variant == "ATen: default")
    assert aten.difference is not None and aten.difference.step == 0


@pytest.mark.slow
@pytest.mark.skipif(not torch.backends.mkldnn.is_available(), reason="needs oneDNN")
def test_the_instruction_sets_of_onednn_change_convolutions(trainer: Trainer) -> None:
    script(trainer, CONVOLUTIONS)
    assert verdicts(varied(trainer, "cpu-isa"))["oneDNN: SSE41"] == "differs"


@pytest.mark.slow
@pytest.mark.skipif(not torch.backends.mkl.is_available(), reason="needs MKL")
def test_the_code_path_of_mkl_changes_products(trainer: Trainer) -> None:
    script(trainer)
    assert verdicts(varied(trainer, "cpu-isa"))["MKL: COMPATIBLE"] == "differs"


@pytest.mark.slow
def test_precision_high_does_nothing_on_cpus_and_medium_may(trainer: Trainer) -> None:
    script(trainer)
    assert verdicts(varied(trainer, "matmul-precision"))["precision high"] == "same"


@pytest.mark.slow
def test_the_examples_depend_on_their_threads_as_is_known(trainer: Trainer) -> None:
    """The CNN by the first gradient that the threads share: of a product or a convolution."""
    (trainer.folder / "train.py").write_text((EXAMPLES / "digits_cnn.py").read_text())
    command = (sys.executable, "train.py", "--workers", "0", "--epochs", "1")
    request = Request(command, trainer.folder, trainer.store, timeout=600)
    if torch.get_num_threads() != 2:
        pytest.skip("the table was measured with two threads")
    result = vary(request, VaryRequest(("threads",)))
    assert result.verdict == "differs"
    first = result.dependences()[0].difference
    assert first is not None
    assert (first.step, first.phase) in ((0, "backward"), (0, "optimizer"))
    # The backward pass comes to the last layer's product first, where MKL divides it among the threads.
    grad = torch.randn(50, 10)
    product = _depends_on_threads(torch.mm, grad, torch.randn(10, 512))
    product |= _depends_on_threads(torch.mm, grad.t(), torch.randn(50, 512))
    known = {"aten.mm.default"} if product else {"aten.convolution_backward.default"}
    assert first.op in known or first.what == "gradients"


def _depends_on_threads(function: Callable[..., torch.Tensor], *inputs: torch.Tensor) -> bool:
    before = torch.get_num_threads()
    try:
        results = []
        for threads in (1, 2):
            torch.set_num_threads(threads)
            results.append(function(*inputs))
        return not torch.equal(*results)
    finally:
        torch.set_num_threads(before)


@pytest.mark.slow
def test_batches_in_halves_change_the_weights_and_a_validation_pass_does_not(trainer: Trainer) -> None:
    script(trainer)
    found = {
        effect.source: effect.verdict for effect in varied(trainer, "batch-size", "extra-evaluation").effects
    }
    assert found == {"batch-size": "differs", "extra-evaluation": "same"}


@pytest.mark.slow
def test_compiled_differs_from_eager(trainer: Trainer) -> None:
    """Dropout draws from a generator of its own there."""
    script(trainer, "nn.Sequential(nn.Linear(40, 64), nn.Dropout(0.2), nn.Linear(64, 4))")
    assert verdicts(varied(trainer, "compile"))["compiled"] == "differs"


@pytest.mark.slow
def test_the_number_of_processes_changes_the_last_bits_of_the_weights(trainer: Trainer) -> None:
    trainer.script(
        """
        import torch
        import torch.distributed as dist
        from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

        dist.init_process_group("gloo")
        torch.manual_seed(0)
        x = torch.randn(256, 16)
        data = TensorDataset(x, x.sum(1, keepdim=True))
        sampler = DistributedSampler(data, shuffle=False)
        net = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.Tanh(), torch.nn.Linear(32, 1))
        net = torch.nn.parallel.DistributedDataParallel(net)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
        for a, b in DataLoader(data, 32 // dist.get_world_size(), sampler=sampler):
            loss = (net(a) - b).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        dist.destroy_process_group()
        """
    )
    command = (
        sys.executable,
        "-m",
        "torch.distributed.run",
        "--standalone",
        "--nproc-per-node",
        "2",
        "train.py",
    )
    request = Request(command, trainer.folder, trainer.store, timeout=600)
    (effect,) = vary(request, VaryRequest(("world-size",))).effects
    assert (effect.variant, effect.verdict) == ("1 process", "differs")
    assert effect.difference is not None
    assert effect.difference.what == "parameters"
    assert effect.size.weights_ulps is not None
    assert effect.size.weights_ulps < 1000


@pytest.mark.slow
def test_no_false_dependence_on_a_busy_machine(trainer: Trainer) -> None:
    script(trainer, workers=2)
    result = varied(
        trainer, "contention", "thread-scheduling", "uninitialized-memory", "hostname", "user", "clock"
    )
    assert result.verdict == "same", result.to_json()


@pytest.mark.slow
def test_memory_read_before_it_is_written_is_found(trainer: Trainer) -> None:
    trainer.script(
        """
        import torch
        torch.manual_seed(0)
        net = torch.nn.Linear(4, 1)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(2):
            garbage = torch.empty(3000, dtype=torch.uint8).float().mean() / 255
            loss = net(torch.ones(4)).sum() * (1 + garbage)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        """
    )
    result = varied(trainer, "uninitialized-memory")
    assert result.verdict in ("differs", "unknown")  # unknown where the garbage differs by itself
