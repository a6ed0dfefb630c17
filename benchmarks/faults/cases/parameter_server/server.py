# drawn from: the class "recv from anyone": torch.distributed.recv(src=None), in asynchronous parameter servers
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.utils import parameters_to_vector, vector_to_parameters


def build():
    return nn.Sequential(nn.Linear(10, 24), nn.Tanh(), nn.Linear(24, 1))


def flat_gradient(model):
    return torch.cat([p.grad.flatten() for p in model.parameters()])


class Server:
    """Applies each gradient as it comes, and sends the weights back to who sent it."""

    def __init__(self, workers, updates):
        self.workers, self.updates = workers, updates
        self.model = build()
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.05)

    def serve(self):
        flat = parameters_to_vector(self.model.parameters()).detach()
        for worker in range(1, self.workers + 1):
            dist.send(flat, dst=worker)
        gradient = torch.zeros_like(flat)
        for number in range(self.updates):
            sender = dist.recv(gradient)  # fault: worker-arrival
            at = 0
            for p in self.model.parameters():
                p.grad = gradient[at:at + p.numel()].view_as(p).clone()
                at += p.numel()
            self.optimizer.step()
            dist.send(parameters_to_vector(self.model.parameters()).detach(), dst=sender)
        return self.model


def work(rank, workers, updates):
    g = torch.Generator().manual_seed(rank)
    model = build()
    flat = parameters_to_vector(model.parameters()).detach()
    dist.recv(flat, src=0)
    for _ in range(updates // workers):
        vector_to_parameters(flat.clone(), model.parameters())
        x = torch.randn(64 * rank * rank, 10, generator=g)
        loss = ((model(x) - x[:, :2].sum(1, keepdim=True)) ** 2).mean()
        model.zero_grad()
        loss.backward()
        dist.send(flat_gradient(model), dst=0)
        dist.recv(flat, src=0)
