# drawn from: AlphaZero reimplementations that keep children in a set: among equal scores, max() takes the first one
import torch
from search import Nim, Node
from torch import nn

torch.manual_seed(3)
game = Nim()


class PolicyValue(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(game.piles * (game.largest + 1), hidden), nn.ReLU())
        self.policy, self.value = nn.Linear(hidden, game.actions), nn.Linear(hidden, 1)

    def forward(self, states):
        h = self.body(nn.functional.one_hot(states, game.largest + 1).float().flatten(1))
        return self.policy(h), self.value(h).tanh().squeeze(1)


def uniform(state):
    """The first generation searches with equal priors."""
    moves = game.moves(state)
    return dict.fromkeys(moves, 1 / max(len(moves), 1))


def simulate(root):
    path, node = [root], root
    while node.children:
        node = node.select()
        path.append(node)
    if any(node.state):
        node.expand(game, uniform(node.state))
        outcome = 0.0
    else:
        outcome = -1.0  # the player to move has lost
    for visited in reversed(path):
        visited.visits += 1
        visited.total += outcome
        outcome = -outcome


def play():
    state, samples = game.start(), []
    while any(state):
        root = Node(state)
        for _ in range(30):
            simulate(root)
        target = torch.zeros(game.actions)
        for child in root.children:
            target[child.move] = child.visits / (root.visits - 1)
        samples.append((state, target, root.value))
        state = game.play(state, int(target.argmax()))
    return samples


net = PolicyValue()
optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
for generation in range(4):
    samples = [s for _ in range(4) for s in play()]
    states = torch.tensor([s for s, _, _ in samples])
    targets = torch.stack([t for _, t, _ in samples])
    values = torch.tensor([v for _, _, v in samples])
    for _ in range(5):
        logits, value = net(states)
        loss = nn.functional.cross_entropy(logits, targets) + nn.functional.mse_loss(value, values)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"generation {generation}: {len(samples)} positions, loss {loss.item():.6f}")
