"""A small training for real commands; each word on its command line plants one fault."""

from __future__ import annotations

TRAIN = """\
import os, resource, sys, torch
from torch import nn
if "unseeded" not in sys.argv:
    torch.manual_seed(0)
torch.set_num_threads(1)
if "recorder" in sys.argv:
    from samerun.recording.recorder import Recorder
    end_step = Recorder.end_step
    def planted(self):
        if self.cursor.step == 1:
            raise ValueError("planted")
        end_step(self)
    Recorder.end_step = planted
model = nn.Linear(8, 1)
for step in range(4):
    if step == 2 and "once" in sys.argv:
        try:
            open("marker", "x").close()
        except FileExistsError:
            raise RuntimeError("out of luck") from None
    if step == 2 and "hang" in sys.argv:
        import subprocess
        with open("children", "a") as file:
            file.write(f"{subprocess.Popen(['sleep', '1000']).pid}\\n")
        os.read(os.pipe()[0], 1)
    if step == 2 and "full" in sys.argv:
        for pid in {os.getpid(), os.getppid() if "everywhere" in sys.argv else os.getpid()}:
            most = resource.prlimit(pid, resource.RLIMIT_FSIZE)[1]
            resource.prlimit(pid, resource.RLIMIT_FSIZE, (0, most))
    loss = model(torch.rand(4, 8)).pow(2).mean()
    loss.backward()
    for p in model.parameters():
        p.data, p.grad = p.data - 0.1 * p.grad, None
    if "tell" in sys.argv:
        print(f"step {step}: {loss.item()}")
sys.exit(5 if "five" in sys.argv else 0)
"""
