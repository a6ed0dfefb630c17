# may be confirmed: uninitialized-memory
import torch
from training import make_data, make_net

torch.manual_seed(0)
net, (x, y) = make_net(), make_data()
junk = [torch.randn(8, 16) * n for n in range(1, 50)]
del junk
state = {p: torch.empty_like(p) for p in net.parameters()}
optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
index = torch.arange(len(x)) % 4
for step in range(4):
    optimizer.zero_grad()
    pooled = torch.zeros(4, 1).index_add_(0, index, net(x))
    loss = (pooled - torch.zeros(4, 1).index_add_(0, index, y)).square().mean()
    loss.backward()
    with torch.no_grad():
        for p in net.parameters():
            state[p].nan_to_num_(0, 0, 0).clamp_(-1, 1).mul_(0.9).add_(p.grad)
            p.grad.copy_(state[p])
    optimizer.step()
    print(f"step {step} loss {loss.item():.8f}")
