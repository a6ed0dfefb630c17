"""Threads that save or evaluate while training goes on are no part of its steps."""

import pytest

from samerun.comparing.compare_runs import compare
from samerun.experiments.what_counts import weigh

SCRIPT = """
import copy, sys, threading, time
import torch
from torch import nn

torch.manual_seed(0)
delay, noise = float(sys.argv[1]), float(sys.argv[2])
net = nn.Sequential(nn.Linear(8, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 2))
opt = None if "by-hand" in sys.argv else torch.optim.SGD(net.parameters(), 0.1)
x = torch.randn(40, 8)

def update():
    if opt is not None:
        return opt.step()
    for p in net.parameters():
        p.data = p.data - 0.1 * p.grad  # which copies of the model have as well

def beside(model, step):
    time.sleep(delay)
    torch.save({name: value + noise for name, value in model.state_dict().items()}, f"{step}.pt")
    with torch.no_grad():
        model.eval()(x)

def train():
    threads = []
    for step in range(10):
        net.zero_grad()
        net(x[step * 4 : step * 4 + 4]).square().mean().backward()
        update()
        if step % 4 == 1:
            threads.append(threading.Thread(target=beside, args=(copy.deepcopy(net), step)))
            threads[-1].start()
        time.sleep(0.01)
    for thread in threads:
        thread.join()

if "in-a-thread" in sys.argv:  # the training itself is in a thread
    runner = threading.Thread(target=train)
    runner.start()
    runner.join()
else:
    train()
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "where", [(), *(pytest.param((how,), marks=pytest.mark.slow) for how in ("in-a-thread", "by-hand"))]
)
def test_when_a_thread_saves_and_evaluates_is_no_difference(trainer, output, where):
    trainer.script(SCRIPT)
    early, late = (trainer.record("train.py", delay, "0", *where) for delay in ("0", "0.05"))
    result = compare(early, late)
    assert (result.verdict, result.reason) == ("same", None), (result.difference, output(early))
    assert result.scope.steps == 10
    assert result.scope.counts["saved"] == 3
    other = compare(early, trainer.record("train.py", "0.02", "1e-9", *where)).difference
    assert other is not None and other.what == "saved"
    phases = {row.phase for row in trainer.rows(late, "parameters")}
    assert phases == {"setup", "optimizer"}


ONE_AFTER_THE_OTHER = """
import threading
import torch
from torch import nn

torch.manual_seed(0)

def train(steps):
    net = nn.Sequential(nn.Linear(4, 2), nn.BatchNorm1d(2))
    opt = torch.optim.SGD(net.parameters(), 0.1)
    for _ in range(steps):
        opt.zero_grad()
        net(torch.randn(8, 4)).square().mean().backward()
        opt.step()
    return net

first = train(1)  # stays alive
thread = threading.Thread(target=train, args=(1,))
thread.start()
thread.join()
"""


def test_a_model_that_another_thread_trains_later_counts_from_its_first_step(trainer, output):
    trainer.script(ONE_AFTER_THE_OTHER)
    run = trainer.record("train.py")
    *_, last = [row for row in trainer.rows(run, "names") if row.name == "buffers:buffers"]
    assert "Sequential#1.1.running_mean" in last.detail, output(run)


CLIENTS = """
import sys, threading
import torch
from torch import nn

order, noise = sys.argv[1], float(sys.argv[2])
turns = {name: threading.Event() for name in "abc"}

def train(name):
    turns[name].wait()  # one after the other, in the order that is asked for
    g = torch.Generator().manual_seed(ord(name))
    net = nn.Linear(4, 1)
    with torch.no_grad():
        for p in net.parameters():
            p.copy_(torch.randn(p.shape, generator=g) + noise * (name == "b"))
    opt = torch.optim.SGD(net.parameters(), 0.1)
    for _ in range(2):
        opt.zero_grad()
        net(torch.randn(8, 4, generator=g)).square().mean().backward()
        opt.step()

threads = [threading.Thread(target=train, args=(name,)) for name in "abc"]
for thread in threads:
    thread.start()
for name in order:
    turns[name].set()
    threads["abc".index(name)].join()
"""


@pytest.mark.slow
def test_the_order_in_which_threads_train_is_no_difference(trainer, output):
    """Clients of federated averaging, say, each with a model of its own."""
    trainer.script(CLIENTS)
    one, other, changed = (
        trainer.record("train.py", *args) for args in (("abc", "0"), ("cab", "0"), ("cab", "1e-7"))
    )
    assert compare(one, other).difference is not None
    (weighed,) = weigh([one, other], [compare(one, other)])
    assert (weighed.verdict, weighed.scope.counts["loss"]) == ("same", 6), output(one)
    assert "several threads train" in weighed.notes[0]
    (weighed,) = weigh([one, changed], [compare(one, changed)])
    assert weighed.verdict == "differs"


MEMBERS = """
import threading
import torch
from torch import nn

def train(number):
    g = torch.Generator().manual_seed(number)
    net = nn.Sequential(nn.Linear(20, 48), nn.Tanh(), nn.Linear(48, 1))
    opt = torch.optim.Adam(net.parameters())
    for _ in range(40):
        loss = net(torch.randn(64, 20, generator=g)).square().mean()
        opt.zero_grad()  # frees the gradients, and so does the backward pass: with the GIL released
        loss.backward()
        opt.step()

for generation in range(8):
    members = [threading.Thread(target=train, args=(number,)) for number in range(4)]
    for member in members:
        member.start()
    for member in members:
        member.join()
"""


def test_threads_that_train_at_once_are_never_hurt(trainer, output):
    """They had their gradients read by each other's hooks while these were freed: most runs crashed."""
    trainer.script(MEMBERS)
    run = trainer.record("train.py", tier="ops", window=(-1, 0))
    assert (run.outcome, run.steps) == ("finished", 8 * 4 * 40), output(run)
    assert not (run.path / "recording-error.txt").exists()
