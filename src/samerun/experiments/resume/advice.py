"""What a checkpoint can lack, by name, and the lines that save and restore it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from samerun.sources.base.rng import Rng
from samerun.sources.catalogue import find_sources

EVERYTHING = "everything"
WEIGHTS = "weights"
BUFFERS = "buffers"
OPTIMIZER = "optimizer state"
RATE = "learning rate"
SCALER = "gradient scaler"
GRADIENTS = "gradients"
FROZEN = "frozen parameters"
RNG = "RNG state"
SAMPLES = "sample randomness"
ORDER = "sample order"
POSITION = "loader position"
AVERAGES = "averaged weights"
COUNTERS = "counters"
RESULTS = "results so far"
OTHER = "other state"


@dataclass(frozen=True)
class Lack:
    """One thing that was not restored: in a word or two, how one can tell, and the lines that save it."""

    what: str
    evidence: str
    advice: str


_ALL = """\
samerun.state.save(path, model=model, optimizer=optimizer, scheduler=scheduler, loader=loader, step=step)
step = samerun.state.load(path, model=model, ...)["step"]  # and every generator's state"""

LOAD = f"""\
# name the command that resumes with --resume-with, and load all of it before training goes on:
{_ALL}"""
WEIGHTS_ADVICE = """\
checkpoint["model"] = model.state_dict()  # in the dtype that it is trained in, not a rounded copy
model.load_state_dict(checkpoint["model"])"""
BUFFERS_ADVICE = """\
checkpoint["model"] = model.state_dict()  # not named_parameters(): buffers are part of it
# a buffer made with persistent=False has to be saved by its name"""
OPTIMIZER_ADVICE = """\
checkpoint["optimizer"] = optimizer.state_dict()
optimizer.load_state_dict(checkpoint["optimizer"])"""
RATE_ADVICE = """\
checkpoint["optimizer"] = optimizer.state_dict()  # its groups hold the learning rate
checkpoint["scheduler"] = scheduler.state_dict()
scheduler.load_state_dict(checkpoint["scheduler"])  # after the optimizer's"""
SCALER_ADVICE = """\
checkpoint["scaler"] = scaler.state_dict()
scaler.load_state_dict(checkpoint["scaler"])"""
GRADIENTS_ADVICE = """\
# write checkpoints between optimizer steps alone, or keep what is accumulated:
checkpoint["gradients"] = {name: p.grad for name, p in model.named_parameters()}"""
FROZEN_ADVICE = """\
checkpoint["trained"] = [name for name, p in model.named_parameters() if p.requires_grad]
for name, p in model.named_parameters(): p.requires_grad_(name in checkpoint["trained"])
# or let the step that training goes on at decide: model.requires_grad_(step >= unfreeze_at)"""
ORDER_ADVICE = """\
sampler.set_epoch(epoch)  # where the sampler has one (DistributedSampler): of the epoch that goes on
# or, with the arguments of your loader; its order comes from seed and epoch:
loader = samerun.data.DataLoader(..., seed=seed)
checkpoint["loader"] = loader.state_dict()
loader.load_state_dict(checkpoint["loader"])
# or save, as the epoch begins, the state of the generator that shuffles"""
POSITION_ADVICE = """\
loader = samerun.data.DataLoader(..., seed=seed)  # with the arguments of your loader
checkpoint["loader"] = loader.state_dict()
loader.load_state_dict(checkpoint["loader"])  # goes on with the next batch of that epoch"""
AVERAGES_ADVICE = """\
checkpoint["ema"] = averaged.state_dict()  # and whatever else is kept beside the model
averaged.load_state_dict(checkpoint["ema"])"""
COUNTERS_ADVICE = """\
checkpoint["epoch"], checkpoint["step"] = epoch, step  # and the best score, where it decides what is saved"""
EPOCH_ADVICE = """\
checkpoint["epoch"] = epoch  # the one that is finished
for epoch in range(checkpoint["epoch"] + 1, epochs): ...  # goes on with the next"""
OWN_GENERATOR_ADVICE = """\
checkpoint["generator"] = generator.get_state()  # of NumPy's: generator.bit_generator.state
generator.set_state(checkpoint["generator"])"""
OWN_SAMPLES_ADVICE = """\
# what the dataset and its transforms keep and change: a schedule, a counter, a generator of their own
checkpoint["noise"] = dataset.noise
dataset.noise = checkpoint["noise"]"""
OWN_DATA_ADVICE = """\
# what the script keeps and takes its data from: a replay buffer, an environment in the midst of an episode,
# a list, a batch loaded ahead
checkpoint["buffer"] = buffer.state_dict()"""
RESULTS_ADVICE = """\
checkpoint["history"] = history  # the losses so far, what a running mean is made of, the best score"""
OTHER_ADVICE = _ALL
ON_EACH_RANK = "# each rank its own state: that of one rank on all of them has them draw the same numbers"


def advise_generators(sources: Sequence[str]) -> str:
    """The lines that save and restore the state of these RNG sources."""
    lines = []
    for source in sources:
        rng = find_sources().get(source)
        get, put = rng.save_lines if isinstance(rng, Rng) else Rng.save_lines
        kept = f'checkpoint["{source}"]'
        lines += [f"{kept} = {get}", put.format(kept)]
    return "\n".join([*lines, "# last before the first step: making a loader's iterator draws numbers too"])


def advise_samples(sources: Sequence[str]) -> str:
    """The lines for samples that are made with random numbers, drawn from these sources where known."""
    keyed = "loader = samerun.data.DataLoader(..., seed=seed)  # as yours; draws by (seed, epoch, sample)"
    return f"{keyed}\n# or:\n{advise_generators(sources)}" if sources else keyed
