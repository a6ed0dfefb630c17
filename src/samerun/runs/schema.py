"""The trace's columns, and the words that stand in them. Versioned from the first commit.

A trace is an Arrow IPC stream. Each row is one record:

| column    | type                 | what it holds |
|-----------|----------------------|---------------|
| step      | int32                | 0-based optimizer step |
| phase     | dictionary<string>   | one of PHASES |
| what      | dictionary<string>   | one of COMPARED or EVIDENCE |
| name      | dictionary<string>   | operation, source id, group of tensors, optimizer, … |
| module    | dictionary<string>   | dotted path of the module whose forward was running |
| call_site | dictionary<string>   | `file.py:line` of the user's code, relative to the working directory |
| digest    | fixed binary[16]     | what came out |
| inputs    | uint64               | 64 bits of what went in; "saved": of its tensors; "rng": where it is |
| value     | float64              | the loss, as a number, for people; never compared |
| flags     | uint8                | DRAWS, UNINITIALIZED, … |
| detail    | string               | paths, JSON, names |
| parts     | binary               | the digests of a group's tensors, 16 bytes each; "rng": its whole state |

The schema's metadata carries `samerun` (a JSON object: schema version, digest algorithms, role, rank,
world_size, place in the tree of processes, argv, digests of the variables that were set before it started,
python and torch versions).
"""

from __future__ import annotations

import re

SCHEMA = 1  # of traces and manifests alike

PHASES = ("setup", "data", "forward", "backward", "optimizer", "collective", "evaluation", "end")

# Records that decide the verdict, in both tiers.
COMPARED = (
    "batch",  # what a DataLoader yielded
    "input",  # what went into a root module (one called by no other module)
    "output",  # what came out of it
    "loss",  # the root of a backward pass
    "gradients",  # of one optimizer's parameters, before it steps
    "parameters",  # after the step; in phase setup, before the first one
    "buffers",
    "optimizer",  # its state after the step
    "saved",  # what torch.save wrote
    "operation",  # tier ops only; compared only between two runs at tier ops
    "end",  # how the process ended: digest of ("finished", steps) or ("raised", type); absent after a kill
)
# Results, which are no records: `what` of a difference between runs that are equal in all of these.
RESULTS = (
    "printed",  # a line of output
    "written",  # a value in a file that the run wrote
)
# Records that explain a difference and never make one.
EVIDENCE = (
    "indices",  # the sample indices of the batch that follows; detail: JSON with workers, samples, batch
    "rng",  # an RNG's state, written when it changed; name is the source id
    "names",  # detail: JSON list, the names of the parts of the group `name`, valid until replaced
    "shapes",  # detail: JSON list, dtype and shape of each part of the group `name` when it was first met
    "setting",  # name: source id, detail: JSON of what it says of itself, at the start and at step 0
    "draw",  # tier ops: a random draw; name is the source id, digest what came out
    "state",  # an RNG's state within a step, as it changed: detail says when; of workers: worker_states.py
    "pass",  # a DataLoader begins a pass over its data; detail: JSON with loader, pass, workers (their pids)
    "trains",  # an optimizer was made: name is its class
    "replicas",  # of the optimizer `name` the parts that ranks are to hold alike; detail: JSON with both
    "seed",  # somebody seeded an RNG: name is the function, digest the seed, value too when it is a number
    "unseeded",  # an RNG object made without a seed; name is the source id, or the function that asked
    "entropy",  # a read of the operating system's entropy
    "clock",  # a read of a clock by the user's code; name is the function
    "identity",  # a read of process id, host name, user, id() of an object; name is the function
    "address",  # a text that holds an object's address was hashed by the user's code; name is the function
    "hashed",  # what a line hashes that the plan asks about: name is TEXTS or OTHER
    "system",  # what the system has now, read by the user's code; name is the function, detail may be STEADY
    "listing",  # a folder listed: digest of the order, inputs of the sorted names, detail the path; its value
    # is explained in sources.listing_order
    "opened",  # a file opened to read: digest of its content (None: too big), value its size, detail the path
    "written",  # a file opened to write, or RENAMED; detail the path, value its size where it is added to
    "arrival",  # results of a pool taken as they are ready; name is the function
    "timed",  # a kernel chosen by timing: digest is of the choice, inputs of what for, detail the choice
    "stream",  # the user's code works on a CUDA stream of its own; name is the function
    "unwritten",  # what holds what was in memory: an array of the user's; a tensor, once written in part
    "threads",  # value: how many Python threads are alive; of the name TRAINING: none
    "shared",  # memory made that processes share, or a process begun beside another; name is the function
    "stopped",  # the plan's stop_after was reached
    "window",  # tier ops begins (name "open") or ends (name "close")
    "gap",  # tier ops: memory was written past torch: name is the operation that met it, detail who made it
    "values",  # a sample of the weights of the group `name`: parts holds them, detail says how many of them
    "probe",  # an operation run again alone: name is the operation, detail the outcome of each way
    "note",  # name: a short key such as "compile-eager"; detail: text for people
)

ENTROPY_FILES = ("/dev/urandom", "/dev/random")  # opening one is an "entropy" of that name
TEXTS = "texts"  # name of a "hashed": texts and numbers alone, which addresses do not reach
OTHER = "other"  # name of a "hashed": objects, or what is not known
A_LOSS = (
    "loss"  # detail of an "output": of a module that is a loss, which a function of torch's may be as well
)
DERIVED = "grad"  # name of a "loss" that torch.autograd.grad was given, and no backward()
SAVED = "torch.save"  # name of a "written": by that function, which then notes what it saves
RENAMED = "rename"  # name of a "written": a file that was written under another name
STEADY = "steady"  # detail of a "system" that gives the same again and again on one machine

HELD = (
    "held"  # name of a "note": the script's line that would have changed what is controlled; detail: itself
)

# The moments of a "state": its detail.
MODEL = "model"  # the first module of a step is called
LOSS = "loss"  # its first backward pass begins
SEEDING = "seeding"  # the script is about to seed it
SEEDED = "seeded"  # it has

TRAINING = "training"  # name of a "threads": one more thread has begun to train
MAPPED = (
    "mmap"  # name of a "threads": a file is mapped to be written, as other processes may; value: how many
)

# What the roles of processes begin with that have no record of their own to compare.
WORKER = "worker"  # of a DataLoader
HELPER = "helper-"  # a program that the command runs and that never trains

# Flags of an operation.
DRAWS = 1  # it draws random numbers
UNINITIALIZED = 2  # it read memory that nothing had written
UNHASHED = 4  # an output had no bytes to digest
LOADER = 8  # it ran inside a DataLoader: compared last, since its timing varies
NEVER_WRITTEN = 16  # its output is not initialised (torch.empty): not compared
# Flag of a batch.
EXACT = 64  # it holds integers and bytes alone
# Flag of any other record.
BESIDE = 32  # a thread wrote it that does not train: when it comes is not compared, and not in which order


_TAKES_TASKS = re.compile(rf"\.({HELPER})?\w*(PoolWorker|LokyProcess)-\d+")  # of multiprocessing, of joblib


def takes_tasks(stem: str) -> bool:
    """Whether a trace of this name is of a worker of a pool."""
    return _TAKES_TASKS.search(stem) is not None


def only_helps(stem: str) -> bool:
    """Whether a trace of this name is of a DataLoader worker or a helping program: evidence, and no more."""
    return f".{WORKER}" in stem or f".{HELPER}" in stem
