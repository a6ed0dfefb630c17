"""Follows a training by torch's own hooks and writes digests of what it sees: a second opinion on the truths.

For `verify.py` alone; it shares no code with samerun. Put first on PYTHONPATH, with the folder to write to in
FAULTS_WITNESS. Each process that trains writes `<name of the process>.json`: a list of [step, what, digest];
a second one of that name, as where one program trains after another, `<name>-2.json`.
"""

import atexit
import hashlib
import json
import multiprocessing.util
import os
from pathlib import Path

import torch
from torch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook
from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook

FOLDER = Path(os.environ["FAULTS_WITNESS"])
records = []
state = {"steps": 0, "depth": 0, "process": os.getpid()}
optimizers, roots = {}, {}


def digest(*values):
    """Of every tensor inside the values, in order."""
    summed = hashlib.blake2b(digest_size=8)

    def add(value):
        if isinstance(value, torch.Tensor):
            if value.layout == torch.strided and value.device.type == "cpu":
                flat = value.detach().clone().contiguous().reshape(-1)
                summed.update(flat.view(torch.uint8).numpy().tobytes() if flat.numel() else b"")
        elif isinstance(value, dict):
            for each in value.values():
                add(each)
        elif isinstance(value, (list, tuple)):
            for each in value:
                add(each)

    with torch.no_grad():
        add(values)
    return summed.hexdigest()


def note(what, *values):
    """Write one record, unless this is a forked child that inherited the list."""
    if state["process"] != os.getpid():
        records.clear()
        state.update(process=os.getpid(), steps=0)
        multiprocessing.util.Finalize(None, save, exitpriority=1)  # a forked child skips atexit
    records.append([state["steps"], what, digest(*values)])


def before(module, inputs):
    """A root module is called."""
    if state["depth"] == 0:
        roots[id(module)] = module
        note("input", inputs)
    state["depth"] += 1


def after(module, inputs, output):
    """It returned, or failed (then the output is None)."""
    state["depth"] -= 1
    if state["depth"] == 0:
        note("output", output)


def steps(optimizer, args, kwargs):
    """An optimizer is about to step."""
    note("gradients", [p.grad for group in optimizer.param_groups for p in group["params"]])


def stepped(optimizer, args, kwargs):
    """An optimizer has stepped."""
    optimizers[id(optimizer)] = optimizer
    note("weights", [group["params"] for group in optimizer.param_groups])
    state["steps"] += 1


def save():
    """The end of the process: the last weights and buffers, whoever changed them."""
    if not records or state["process"] != os.getpid():
        return
    ends = [group["params"] for optimizer in optimizers.values() for group in optimizer.param_groups]
    records.append([state["steps"], "end", digest(ends)])
    records.append([state["steps"], "buffers", digest([list(root.buffers()) for root in roots.values()])])
    name = multiprocessing.current_process().name
    number = 1 + len([*FOLDER.glob(f"{name}.json"), *FOLDER.glob(f"{name}-*.json")])
    (FOLDER / f"{name}{f'-{number}' if number > 1 else ''}.json").write_text(json.dumps(records))


register_module_forward_pre_hook(before)
register_module_forward_hook(after, always_call=True)
register_optimizer_step_pre_hook(steps)
register_optimizer_step_post_hook(stepped)
atexit.register(save)
