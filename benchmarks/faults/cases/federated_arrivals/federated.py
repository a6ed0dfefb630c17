# drawn from: asynchronous federated averaging (FedAsync): the server mixes in each update as it comes
from __future__ import annotations

import copy
import queue
import threading
from dataclasses import dataclass

import torch
from torch import nn


@dataclass
class Settings:
    clients: int = 6
    rounds: int = 3
    local_steps: int = 3
    lr: float = 0.1
    mixing: float = 0.5
    seed: int = 17


def make_client_data(client: int, n: int = 96):
    g = torch.Generator().manual_seed(900 + client)
    x = torch.randn(n, 10, generator=g) + 0.3 * client
    w = torch.linspace(-1, 1, 10)
    return x, ((x - 0.3 * client) @ w + 0.2 * torch.randn(n, generator=g) > 0).float()


class Client(threading.Thread):
    def __init__(self, number: int, settings: Settings, inbox: queue.Queue, outbox: queue.Queue):
        super().__init__(daemon=True)
        self.number, self.settings, self.inbox, self.outbox = number, settings, inbox, outbox
        self.x, self.y = make_client_data(number)

    def run(self):
        while (weights := self.inbox.get()) is not None:
            w, b = (t.clone() for t in weights)
            for i in range(self.settings.local_steps):
                x, y = self.x[i * 32:(i + 1) * 32], self.y[i * 32:(i + 1) * 32]
                error = torch.sigmoid(x @ w + b) - y
                w -= self.settings.lr * (x.T @ error) / len(x)
                b -= self.settings.lr * error.mean()
            self.outbox.put((self.number, w, b))


class Server:
    def __init__(self, settings: Settings):
        self.settings = settings
        self.model = nn.Linear(10, 1)
        self.arrivals: queue.Queue = queue.Queue()
        self.inboxes = [queue.Queue() for _ in range(settings.clients)]
        self.clients = [Client(i, settings, box, self.arrivals) for i, box in enumerate(self.inboxes)]
        for client in self.clients:
            client.start()

    def weights(self):
        return self.model.weight.detach()[0].clone(), self.model.bias.detach()[0].clone()

    def round(self):
        for box in self.inboxes:
            box.put(self.weights())
        for _ in self.clients:
            number, w, b = self.arrivals.get()  # fault: worker-arrival
            with torch.no_grad():
                self.model.weight[0].lerp_(w, self.settings.mixing)
                self.model.bias[0].lerp_(b, self.settings.mixing)

    def close(self):
        for box in self.inboxes:
            box.put(None)


def main(settings: Settings):
    torch.manual_seed(settings.seed)
    server = Server(settings)
    x, y = (torch.cat(part) for part in zip(*[make_client_data(50 + i) for i in range(settings.clients)]))
    for number in range(settings.rounds):
        server.round()
        with torch.no_grad():
            loss = nn.functional.binary_cross_entropy_with_logits(server.model(x)[:, 0], y)
        print(f"round {number}: validation loss {loss.item():.6f}")
    server.close()
    best = copy.deepcopy(server.model)  # personalised for the public part afterwards
    optimizer = torch.optim.SGD(best.parameters(), lr=0.05)
    for epoch in range(5):
        loss = nn.functional.binary_cross_entropy_with_logits(best(x)[:, 0], y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"epoch {epoch}: loss {loss.item():.6f}")


if __name__ == "__main__":
    main(Settings())
