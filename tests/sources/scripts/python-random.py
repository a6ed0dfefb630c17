"""python-random: crops at places drawn from `random`, which nobody seeded."""

import hashlib
import random

import torch

torch.manual_seed(0)
images, labels = torch.rand(64, 1, 10, 10), torch.randint(0, 3, (64,))
model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, 3))


def crop(image):
    top, left = random.randint(0, 2), random.randint(0, 2)
    return image[:, top : top + 8, left : left + 8]


for step in range(8):
    rows = slice(step * 8, step * 8 + 8)
    batch = torch.stack([crop(image) for image in images[rows]])
    loss = torch.nn.functional.cross_entropy(model(batch), labels[rows])
    loss.backward()
    for p in model.parameters():
        p.data, p.grad = p.data - 0.1 * p.grad, None

weights = b"".join(parameter.detach().numpy().tobytes() for parameter in model.parameters())
print(hashlib.sha256(weights).hexdigest())
