"""Covers `per_sample/dataloaders.py`, `per_sample/samplers.py`, `per_sample/keying.py`,
`per_sample/own_generators.py`, `per_sample/passes.py` and `per_sample/seeder.py`.
"""

import random
import subprocess
import sys

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader, Dataset, IterableDataset, Subset

from samerun.runs.plan import Control
from samerun.sources.catalogue import find_sources
from samerun.sources.per_sample import dataloaders
from samerun.sources.worker_seeds import WorkerSeeds

from .differences import ONE, TWO, batch, origin, row, side

source = WorkerSeeds()


def draws():
    return torch.tensor([random.random(), np.random.rand(), torch.rand(1).item()], dtype=torch.float64)


class Drawing(Dataset):
    """Each sample: its index, and a draw of each library."""

    def __len__(self):
        return 12

    def __getitem__(self, index):
        return index, draws()


class InBatches(Drawing):
    def __getitems__(self, indices):
        return [(index, draws()) for index in indices]


class Streaming(IterableDataset):
    def __iter__(self):
        for index in range(6):
            yield index, draws()


def collate_drawing(samples):
    return torch.utils.data.default_collate(samples), draws()


def reseed(worker_id):
    random.seed()
    np.random.seed()
    torch.seed()


@pytest.fixture(autouse=True)
def fixed():
    """The controls of worker-seeds must do without those of the main generators, and leave these alone."""
    kept = random.getstate(), np.random.get_state(), torch.get_rng_state()
    yield
    random.setstate(kept[0]), np.random.set_state(kept[1]), torch.set_rng_state(kept[2])
    assert dataloaders._controls == []


def epoch(loader):
    return {
        index: tuple(drawn)
        for indices, rows in loader
        for index, drawn in zip(indices.tolist(), rows.tolist(), strict=True)
    }


def loaded(dataset, *, epochs=2, seed=1, torch_seed=7, **options):
    """Epoch by epoch {index: its draws}, under control; torch's generator as a script seeds it."""
    undo = source.control(Control(seed=seed))
    torch.manual_seed(torch_seed)
    try:
        loader = DataLoader(dataset, batch_size=3, **options)
        return [epoch(loader) for _ in range(epochs)]
    finally:
        undo()


def test_a_sample_does_not_depend_on_who_fetches_it():
    expected = loaded(Drawing())
    assert len(set(expected[0].values())) == 12
    assert expected[0] != expected[1]
    assert loaded(Drawing(), num_workers=1) == expected
    assert loaded(Drawing(), num_workers=2, prefetch_factor=4) == expected
    assert loaded(Drawing(), num_workers=2, shuffle=True)[0] == expected[0]  # then its seed was drawn between
    assert loaded(Drawing(), num_workers=2, worker_init_fn=reseed) == expected
    assert loaded(Drawing(), seed=2)[0] != expected[0]


def test_workers_that_are_kept_draw_anew_in_each_epoch():
    expected = loaded(Drawing(), epochs=1)
    kept = loaded(Drawing(), epochs=3, num_workers=1, persistent_workers=True)
    assert kept[0] == expected[0]  # torch draws no further seed for them
    assert kept == loaded(Drawing(), epochs=3, num_workers=2, persistent_workers=True)
    assert len({drawn for epoch in kept for drawn in epoch.values()}) == 36


def test_another_seed_of_the_script_gives_other_samples():
    one, two = loaded(Drawing(), torch_seed=7), loaded(Drawing(), torch_seed=8)
    assert not set(one[0].values()) & set(two[0].values())


def test_without_control_the_same_loaders_differ():
    def once(**options):
        return [rows.tolist() for _, rows in DataLoader(Drawing(), batch_size=3, **options)]

    torch.manual_seed(1)
    one = once(num_workers=1)
    torch.manual_seed(1)
    assert once(num_workers=2) != one
    torch.seed()
    assert once(num_workers=1) != one


def test_a_sample_alone_is_what_it_is_in_a_batch():
    undo = source.control(Control(seed=1))
    torch.manual_seed(7)
    alone = {index: tuple(drawn.tolist()) for index, drawn in DataLoader(Drawing(), batch_size=None)}
    undo()
    assert [alone] == loaded(Drawing(), epochs=1)


def test_more_samples_than_are_seeded_together():
    class Many(Drawing):
        def __len__(self):
            return 200

    def drawn(size):
        undo = source.control(Control(seed=1))
        torch.manual_seed(7)
        rows = torch.cat([rows for _, rows in DataLoader(Many(), batch_size=size)])
        undo()
        return rows

    assert torch.equal(drawn(200), drawn(7))
    assert len(drawn(200).unique(dim=0)) == 200


def test_two_loaders_of_one_dataset_draw_apart():
    undo = source.control(Control(seed=1))
    first, second = (next(iter(DataLoader(Drawing(), batch_size=12)))[1] for _ in range(2))
    undo()
    assert not torch.equal(first, second)


def test_a_subset_is_keyed_by_sample_and_a_dataset_of_batches_by_batch():
    shuffled = torch.Generator().manual_seed(3)
    subset = loaded(Subset(Drawing(), list(range(12))))
    assert subset == loaded(Drawing())
    order = [*torch.randperm(12, generator=shuffled)]
    assert subset == loaded(Subset(Drawing(), list(range(12))), sampler=order)
    batches = loaded(InBatches())
    assert batches == loaded(InBatches(), num_workers=2)
    assert len(set(batches[0].values())) == 12


def test_collate_fn_is_keyed_too():
    def mixed(workers):
        undo = source.control(Control(seed=1))
        torch.manual_seed(7)
        loader = DataLoader(Drawing(), batch_size=3, num_workers=workers, collate_fn=collate_drawing)
        drawn = [tuple(drawn.tolist()) for _, drawn in loader]
        undo()
        return drawn

    assert mixed(0) == mixed(2)
    assert len(set(mixed(0))) == 4


def test_iterable_datasets_repeat_for_the_same_number_of_workers():
    one = loaded(Streaming())
    assert one == loaded(Streaming()) == loaded(Streaming(), num_workers=1)
    kept = loaded(Streaming(), num_workers=1, persistent_workers=True)
    assert kept[0] == one[0] and len({*map(str, (*one, kept[1]))}) == 3
    assert loaded(Streaming(), num_workers=2) == loaded(Streaming(), num_workers=2)


@pytest.mark.parametrize("dataset", [Drawing(), Streaming()])
def test_the_main_generators_stay_where_torch_alone_has_them(dataset):
    def after(workers, controlled):
        torch.manual_seed(1), random.seed(1), np.random.seed(1)
        undo = source.control(Control(seed=1)) if controlled else lambda: None
        seen = []
        for _ in DataLoader(dataset, batch_size=3, num_workers=workers):
            seen.append(draws().tolist())
        undo()
        return seen

    assert after(0, True) == after(1, True) == after(1, False)


def test_names_of_samples_of_any_kind():
    class Keyed(Dataset):
        def __getitem__(self, index):
            return random.random()

    class Sampler:
        def __init__(self, keys):
            self.keys = keys

        def __iter__(self):
            return iter(self.keys)

    def drawn(*keys):
        undo = source.control(Control(seed=1))
        torch.manual_seed(7)
        found = [value.item() for value in DataLoader(Keyed(), sampler=Sampler(keys), batch_size=1)]
        undo()
        return found

    keys = ("a", "b", (1, 2), (12,), 5, 5.5)
    assert drawn(*keys) == drawn(*reversed(keys))[::-1]
    assert len(set(drawn(*keys))) == len(keys)
    assert drawn(np.int64(5), torch.tensor(5), 5)[0] == drawn(5)[0]
    assert len(set(drawn(np.int64(5), torch.tensor(5), 5))) == 3
    assert drawn(object(), object()) == drawn(object(), object())  # by their places: they have no names


def test_the_users_own_worker_init_fn_runs_and_is_left_on_the_loader():
    undo = source.control(Control(seed=1))
    loader = DataLoader(Drawing(), num_workers=1, worker_init_fn=reseed)
    list(loader)
    undo()
    assert loader.worker_init_fn is reseed


def test_undo_restores_the_classes():
    module = torch.utils.data.dataloader
    kinds = module._BaseDataLoaderIter, module._MultiProcessingDataLoaderIter, module._DatasetKind
    before = [dict(vars(kind)) for kind in kinds]
    outer, inner = source.control(Control(seed=1)), source.control(Control(seed=2))
    list(DataLoader(Drawing()))
    assert all(dict(vars(kind)) != then for kind, then in zip(kinds, before, strict=True))
    outer(), inner()
    assert [dict(vars(kind)) for kind in kinds] == before


def test_an_error_in_a_dataset_is_the_users_own_and_restores_the_generators():
    class Broken(Drawing):
        def __getitem__(self, index):
            draws()
            raise LookupError("no such sample")

    undo = source.control(Control(seed=1))
    before = random.getstate()
    with pytest.raises(LookupError, match="no such sample"):
        list(DataLoader(Broken()))
    assert random.getstate() == before
    undo()


def test_a_batch_that_failed_leaves_nothing_to_the_next():
    class Broken(Drawing):
        def __getitem__(self, index):
            drawn = super().__getitem__(index)
            if index in fails:
                raise fails[index]
            return drawn

    def after_the_first(*failing):
        fails.clear(), fails.update(failing)
        undo = source.control(Control(seed=1))
        torch.manual_seed(7)
        try:
            batches = iter(DataLoader(Broken(), batch_size=3, collate_fn=collate_drawing))
            main = draws_of_the_main_generators()
            try:
                next(batches)
            except (LookupError, KeyboardInterrupt):
                assert failing
            assert draws_of_the_main_generators() == main
            return [drawn.tolist() for _, drawn in batches]
        finally:
            undo()

    def draws_of_the_main_generators():
        return random.getstate(), np.random.get_state()[1].tolist(), torch.get_rng_state().tolist()

    fails = {}
    expected = after_the_first()
    assert after_the_first((1, LookupError())) == expected
    assert after_the_first((2, KeyboardInterrupt())) == expected


SPAWNED = """
import random
import samerun, torch
from torch.utils.data import DataLoader, Dataset
class Drawing(Dataset):
    def __len__(self): return 4
    def __getitem__(self, index): return random.random()
if __name__ == "__main__":
    samerun.seed_everything(1, mode="seeded")
    for workers in (0, 2):
        context = "spawn" if workers else None
        loader = DataLoader(Drawing(), num_workers=workers, multiprocessing_context=context)
        print([value.item() for value in loader])
        samerun.seed_everything(1, mode="seeded")
"""


@pytest.mark.slow
def test_seed_everything_reaches_spawned_workers(tmp_path):
    script = tmp_path / "train.py"
    script.write_text(SPAWNED)
    done = subprocess.run([sys.executable, "-W", "ignore", script], capture_output=True, text=True)
    one, two = done.stdout.splitlines()
    assert one == two, done.stderr


# --- recognise -------------------------------------------------------------------------------------


def test_recognises_other_batches_of_the_same_samples():
    assert source.recognise(batch(indices_equal=True, in_workers=True)).strength == 0.7


@pytest.mark.parametrize(
    "columns",
    [
        dict(indices_equal=True, in_workers=False),
        dict(indices_equal=False, in_workers=True),
        dict(indices_equal=True, in_workers=True, what="operation"),
    ],
)
def test_does_not_recognise(columns):
    assert source.recognise(batch(**columns)) is None


def test_steps_back_when_the_main_generator_differs():
    given = dict(indices_equal=True, in_workers=True, rng_first={"torch-cpu": 0})
    assert source.recognise(batch(drawn=frozenset({"torch-cpu"}), **given)).strength == 0.2
    assert source.recognise(batch(**given)).strength == 0.7  # nobody drew from it


def test_another_generator_of_the_main_process_may_have_made_the_samples():
    given = dict(indices_equal=True, in_workers=True, rng_first={"python-random": 0})
    found = source.recognise(batch(drawn=frozenset({"python-random"}), **given))
    assert found.strength == 0.3
    assert "python-random of the main process, which differs" in found.text


def test_sees_a_worker_that_seeds_itself():
    def seeded(digest, process="rank0.worker0"):
        return side(row("seed", "random.seed", call_site="train.py:3", digest=digest, process=process))

    given = dict(in_workers=True, indices_equal=True)
    found = source.recognise(batch(a=seeded(ONE), b=seeded(TWO), **given))
    assert (found.strength, found.call_site) == (1.0, "train.py:3")
    assert source.recognise(batch(a=seeded(ONE), b=seeded(ONE), **given)).strength == 0.7
    unseeded = side(row("unseeded", "numpy-global", call_site="train.py:4", process="rank0.worker0"))
    assert source.recognise(batch(a=unseeded, b=unseeded, **given)).strength == 1.0


def test_what_several_workers_of_a_pool_drew_is_named_at_the_line_that_seeds_them():
    def of_run(digest, *workers):
        made = []
        for worker in workers:
            process = f"rank0.helper-ForkPoolWorker-{worker}"
            made.append(row("seed", "np.random.seed", digest=digest, call_site="data.py:11", process=process))
            made.append(row("draw", "numpy-global", digest=digest, call_site="data.py:16", process=process))
        return side(*made)

    found = source.recognise(batch(a=of_run(ONE, 1, 2), b=of_run(TWO, 1, 2)))
    assert found.call_site == "data.py:11" and "data.py:16" in found.text
    # each draws the same, for other tasks
    alike = source.recognise(batch(a=of_run(ONE, 1, 2), b=of_run(ONE, 1, 2)))
    assert (alike.call_site, alike.strength) == ("data.py:11", 0.4) and "other numbers" not in alike.text
    assert source.recognise(batch(a=of_run(ONE, 1, 2), b=of_run(ONE, 1, 2), what="loss")) is None
    assert source.recognise(batch(a=of_run(ONE, 1), b=of_run(TWO, 1))) is None  # one worker: no race


@pytest.mark.parametrize("by_task", [True, False])
def test_tasks_that_seed_by_what_they_are_given_draw_alike_in_any_worker(by_task):
    """Which worker took which decides nothing then, and is not why the results came in another order."""

    def of_run(first):
        made = [row("arrival", "imap_unordered", call_site="data.py:25")]
        for task in range(8):
            process = f"rank0.helper-ForkPoolWorker-{1 + (task >= first)}"
            digest = bytes([task] * 16) if by_task else bytes([task + 8 * first] * 16)
            made.append(
                row("seed", "np.random.default_rng", digest=digest, call_site="data.py:11", process=process)
            )
            made.append(
                row("draw", "numpy-generator", digest=digest, call_site="data.py:16", process=process)
            )
        return side(*made)

    difference = batch(a=of_run(3), b=of_run(5), phase="setup", what="operation")
    found = source.recognise(difference)
    came = find_sources()["worker-arrival"].recognise(difference)
    if by_task:
        assert found is None and came is not None and came.call_site == "data.py:25"
    else:
        assert found is not None and found.call_site == "data.py:11"


def test_an_operation_that_draws_in_a_worker_of_a_pool_may_be_of_another_task():
    drawn = origin("aten.uniform_.default", draws=True, generator_differs=True, call_site="train.py:4")
    found = source.recognise(batch(origin=drawn, process="rank0.LokyProcess-1"))
    assert (found.strength, found.call_site) == (0.4, "train.py:4")
    for process, of in (("rank0", drawn), ("rank0.LokyProcess-1", origin())):
        assert source.recognise(batch(origin=of, process=process, what="operation")) is None


SEEDED = """
import random, sys
import numpy as np
import torch

class Drawing(torch.utils.data.Dataset):
    def __len__(self):
        return 8
    def __getitem__(self, index):
        return torch.rand(2) + random.random() + np.random.rand()

SEEDS
for epoch in range(2):
    for batch in torch.utils.data.DataLoader(Drawing(), 4, shuffle=True, num_workers=int(sys.argv[1])):
        print(batch.tolist())
"""
SEEDS = "random.seed(3); np.random.seed(3); torch.manual_seed(3)"


@pytest.mark.everyday(1)
@pytest.mark.parametrize("own", [True, False])
@pytest.mark.parametrize("workers", ["0", "2"])
def test_published_numbers_stay_under_a_compatible_control_alone(workers, own, trainer, tmp_path) -> None:
    """With the script's own seeds, and with those that the control gives in their place."""
    trainer.script(SEEDED.replace("SEEDS", SEEDS))
    plain = subprocess.check_output([sys.executable, "train.py", workers], cwd=tmp_path, text=True)
    trainer.script(SEEDED.replace("SEEDS", SEEDS if own else "pass"))
    made = [
        trainer.record("train.py", workers, tier="none", control=Control(seed=3, compatible=compatible))
        for compatible in (True, False)
    ]
    compatible, other = ((run.path / "output.txt").read_text() for run in made)
    assert compatible == plain != other
