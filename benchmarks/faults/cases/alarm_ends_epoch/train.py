# drawn from: the class "a signal ends what takes too long" (SIGALRM and SIGUSR1 handlers of cluster scripts)
"""Two stages, small images and then full ones. The first stage is given a fixed share of the time."""
import signal

import torch
from torch import nn


class Deadline:
    def __init__(self, seconds):
        self.seconds = seconds

    def __enter__(self):
        signal.signal(signal.SIGALRM, self.ring)
        signal.setitimer(signal.ITIMER_REAL, self.seconds)  # fault: clock
        self.up = False
        return self

    def ring(self, number, frame):
        self.up = True  # fault: clock

    def __exit__(self, *exc):
        signal.setitimer(signal.ITIMER_REAL, 0)


class Trainer:
    def __init__(self, net, lr):
        self.net = net
        self.opt = torch.optim.SGD(net.parameters(), lr=lr, momentum=0.9)
        self.done = 0

    def step(self, size):
        y = torch.randint(0, 2, (16,))
        x = torch.randn(16, 1, size, size) * 0.5
        x[:, :, : size // 2] += y.view(-1, 1, 1, 1)
        loss = nn.functional.cross_entropy(self.net(x), y)
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        self.done += 1
        return loss.item()


def main():
    torch.manual_seed(11)
    body = [nn.Conv2d(1, 8, 3), nn.ReLU(), nn.Conv2d(8, 8, 3), nn.ReLU()]
    net = nn.Sequential(*body, nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(32, 2))
    trainer = Trainer(net, 0.05)
    with Deadline(0.6) as deadline:
        for _ in range(600):
            loss = trainer.step(12)
            if deadline.up:  # fault: clock
                break
    print(f"small images: loss {loss:.4f}")
    for epoch in range(3):
        for _ in range(5):
            loss = trainer.step(24)
        print(f"full images, epoch {epoch}: loss {loss:.4f}")


if __name__ == "__main__":
    main()
