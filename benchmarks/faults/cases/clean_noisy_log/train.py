# drawn from: the logs of every trainer: times, speeds, memory, hosts and dates between the losses, in text, JSON lines and checkpoints
import json
import logging
import os
import platform
import resource
import time
from datetime import datetime, timedelta

import torch
from torch import nn

logging.basicConfig(format="%(asctime)s %(levelname)s [%(process)d] %(message)s", level=logging.INFO)
log = logging.getLogger("train")


class Meter:
    def __init__(self):
        self.began = self.last = time.perf_counter()

    def tick(self):
        now = time.perf_counter()
        took, self.last = now - self.last, now
        return took


def main():
    torch.manual_seed(1)
    os.makedirs("out", exist_ok=True)
    log.info("start on %s at %s, load %.2f", platform.node(), datetime.now().isoformat(), os.getloadavg()[0])
    net = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.AdaptiveMaxPool2d(1), nn.Flatten(), nn.Linear(8, 4))
    opt = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9, nesterov=True)
    meter, total = Meter(), 24
    with open("out/log.jsonl", "w") as out:
        for it in range(total):
            y = torch.randint(0, 4, (32,))
            x = torch.randn(32, 3, 10, 10) + y.view(-1, 1, 1, 1) * 0.3
            loss = nn.functional.cross_entropy(net(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            took = meter.tick()
            left = timedelta(seconds=int(took * (total - it - 1)))
            memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            row = {"iter": it, "loss": loss.item(), "iter_time": took, "img_per_s": 32 / took, "max_mem_mb": memory, "ts": time.time()}
            out.write(json.dumps(row) + "\n")
            if it % 6 == 5:
                speed = f"{took * 1e3:.1f} ms/it {32 / took:.0f} img/s eta {left} mem {memory:.0f}M"
                print(f"[{datetime.now():%m/%d %H:%M:%S}] iter {it + 1}/{total} loss {loss.item():.4f} {speed}")
    elapsed = time.perf_counter() - meter.began
    about = {"finished": datetime.now().timestamp(), "elapsed": elapsed, "host": platform.node(), "pid": os.getpid()}
    torch.save({"model": net.state_dict(), **about}, "out/last.pt")
    log.info("done in %.1f s (%.1f it/s)", elapsed, total / elapsed)


if __name__ == "__main__":
    main()
