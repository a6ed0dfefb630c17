"""The Lion optimizer (Chen et al. 2023), in place."""

import torch
from torch.optim import Optimizer


class Lion(Optimizer):
    def __init__(self, params, lr=1e-3, betas=(0.9, 0.99), weight_decay=0.0):
        if lr <= 0:
            raise ValueError(f"invalid learning rate {lr}")
        super().__init__(params, {"lr": lr, "betas": betas, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self, closure=None):
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            beta1, beta2 = group["betas"]
            for p in group["params"]:
                if p.grad is None:
                    continue
                state = self.state[p]
                if not state:
                    state["momentum"] = p.grad.new_empty(p.shape)  # fault: uninitialized-memory
                momentum = state["momentum"]
                p.mul_(1 - group["lr"] * group["weight_decay"])
                update = momentum.mul(beta1).add_(p.grad, alpha=1 - beta1).sign_()
                p.add_(update.nan_to_num_(), alpha=-group["lr"])
                momentum.mul_(beta2).add_(p.grad, alpha=1 - beta2).nan_to_num_(posinf=0.0, neginf=0.0)
        return loss
