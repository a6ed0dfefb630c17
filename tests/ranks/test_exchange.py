"""Two real ranks, before and after they have a process group: what agrees passes, what differs is named.

Covers `agreement.py` and `seed.py`.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from .processes import free_port, run_ranks

# Both ways one after the other: the store that was used first must not be in the way of the group.
SCRIPT = """
def everything():
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.BatchNorm1d(3))
    order = torch.randperm(1000).tolist()
    big = {f"entry{i}": i for i in range(40_000)}  # more than one piece in a store
    told = {
        "drawn": [sync_seed(), sync_seed()],
        "given": sync_seed(2**64 - 1),
        "others": error(sync_seed, rank + 7),
        "half given": error(sync_seed, None if rank else 3),
        "same": [error(check_agree, "weights", model), error(check_agree, "order", order)],
        "mixed": error(sync_seed) if rank else error(check_agree, "weights", 1),
        "unreadable": error(check_agree, "weights", object() if rank else 1),
        "alone": error(check_agree, "weights", {"a": 1, "b": 2} if rank else {"a": 1}),
    }
    if rank == 1:
        model[1].running_var.view(torch.int32)[2] ^= 1
        order[3], order[4] = order[4], order[3]
        big["entry39999"] = -1
    told["one bit"] = error(check_agree, "weights", model)
    told["swapped"] = error(check_agree, "order", order)
    told["big"] = error(check_agree, "sizes", big)
    told["after"] = sync_seed()  # errors leave the ranks in step
    return told

first = everything()
dist.init_process_group("gloo")  # env://, on the same port
second = everything()
dist.barrier()
dist.destroy_process_group()
streams = [rank_stream(5, "mask").seed64, rank_stream(5, "mask", 1).seed64]
say({"store": first, "group": second, "streams": streams})
"""


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    return run_ranks(SCRIPT, tmp_path_factory.mktemp("ranks"))


@pytest.fixture(params=["store", "group"])
def both(told: list[Any], request: pytest.FixtureRequest) -> list[Any]:
    return [one[request.param] for one in told]


def test_every_rank_tells_the_same(both: list[Any]) -> None:
    for name in both[0]:
        if name not in ("unreadable",):
            assert both[0][name] == both[1][name], name


def test_a_seed_is_drawn_anew_by_each_call(told: list[Any]) -> None:
    drawn = [*told[0]["store"]["drawn"], *told[0]["group"]["drawn"], told[0]["store"]["after"]]
    assert len(set(drawn)) == 5
    assert all(0 <= seed < 2**32 for seed in drawn)


def test_a_seed_given_alike_is_kept(both: list[Any]) -> None:
    assert both[1]["given"] == 2**64 - 1


def test_other_seeds_are_refused(both: list[Any]) -> None:
    assert both[1]["others"].startswith(
        "RanksDisagree: rank 0 was given the seed 7, but rank 1 was given the seed 8"
    )
    assert "rank 0 was given the seed 3, but rank 1 was given no seed" in both[0]["half given"]


def test_equal_values_agree(both: list[Any]) -> None:
    assert both[0]["same"] == [None, None]


def test_one_bit_is_named(both: list[Any]) -> None:
    message = both[0]["one bit"]
    assert message.startswith("RanksDisagree: weights: rank 1 differs from rank 0 (of 2 ranks)")
    assert "in 1.running_var (torch.float32 (3,)" in message


def test_a_swapped_order_is_named(both: list[Any]) -> None:
    assert "rank 1 in [3] (" in both[0]["swapped"]


def test_a_long_list_of_entries_arrives_whole(both: list[Any]) -> None:
    assert "rank 1 in entry39999 (-1; on rank 0 39999)" in both[0]["big"]


def test_an_entry_of_one_rank_alone_is_named(both: list[Any]) -> None:
    assert "rank 1 has b, which rank 0 has not" in both[0]["alone"]


def test_other_calls_are_told_apart(both: list[Any]) -> None:
    assert "rank 0 is in check_agree('weights'), but rank 1 is in sync_seed()" in both[1]["mixed"]


def test_a_rank_that_cannot_read_its_value_does_not_leave_the_others_waiting(both: list[Any]) -> None:
    assert both[1]["unreadable"].startswith("UsageError: ")
    assert "rank 1 could not read its own: there is no telling" in both[0]["unreadable"]


def test_each_rank_has_a_stream_of_its_own(told: list[Any]) -> None:
    assert len({seed for one in told for seed in one["streams"]}) == 4


def test_a_rank_that_never_comes_is_an_error_after_a_while(tmp_path: Path) -> None:
    script = """
    from datetime import timedelta
    from samerun.ranks import store
    store.PATIENCE = timedelta(seconds=1)
    os.environ["WORLD_SIZE"] = "2"
    say(error(sync_seed))
    """
    (message,) = run_ranks(script, tmp_path, world=1)
    assert message.startswith("UsageError: rank 0 of 2 did not meet the others at MASTER_ADDR=127.0.0.1")
    assert "torchrun" in message


TORCHRUN = """\
import os, sys
from datetime import timedelta
from samerun.ranks import store, sync_seed
store.PATIENCE = timedelta(seconds=20)
rank, restarts = int(os.environ["RANK"]), int(os.environ["TORCHELASTIC_RESTART_COUNT"])
assert os.environ["TORCHELASTIC_USE_AGENT_STORE"] == "True"
if restarts == 0:
    if rank == 0:  # leaves its word in the agent's store, which outlives the restart
        from samerun.ranks.store import _meet, _set
        with _meet() as (where, call):
            _set(where, f"{call}/0", b"\\x0b\\0\\0\\0sync_seed()1 1")
    else:
        import time
        time.sleep(3)
    sys.exit(1)
import torch.distributed as dist
if rank == 0:
    import time
    time.sleep(1)  # rank 1 looks first
before = sync_seed()
dist.init_process_group("gloo", timeout=timedelta(seconds=20))
after = sync_seed()
open(f"rank{rank}", "w").write(f"{before} {after}")
dist.barrier()
dist.destroy_process_group()
"""


@pytest.mark.slow
def test_under_torchrun_after_a_restart(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(TORCHRUN)
    done = subprocess.run(
        [
            *(sys.executable, "-m", "torch.distributed.run", "--nproc-per-node=2", "--max-restarts=1"),
            *("--monitor-interval=0.2", "--rdzv-backend=c10d", f"--rdzv-endpoint=127.0.0.1:{free_port()}"),
            "train.py",
        ],
        cwd=tmp_path,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    said = [(tmp_path / f"rank{rank}").read_text() for rank in (0, 1)]
    assert said[0] == said[1]
    assert len(set(said[0].split())) == 2
