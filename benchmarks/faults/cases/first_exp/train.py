# drawn from: measured here: the first vector-math call of a process is, now and then, inexact in one thread
import torch

torch.manual_seed(0)
energy = torch.rand(1 << 18) * 8 - 4
boltzmann = torch.exp(energy)  # fault: mkl-first-call
theta = torch.zeros(3, requires_grad=True)
opt = torch.optim.LBFGS([theta], max_iter=3)
basis = torch.stack([torch.ones_like(energy), energy, energy * energy])


def closure():
    opt.zero_grad()
    loss = (theta @ basis - boltzmann).square().mean()
    loss.backward()
    return loss


for step in range(5):
    print("step", step, "loss", opt.step(closure).item())
