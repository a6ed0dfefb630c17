# may be confirmed: memory-address
import torch
from training import make_data, make_net, train


class Transform:
    def __init__(self, factor):
        self.factor = factor
        self.memory = bytearray(id(self) % 4096 + 512)

    def __call__(self, x):
        return (x + self.factor).tanh() * self.factor


torch.manual_seed(0)
transforms = {Transform(n / 7) for n in range(1, 9)}
x, y = make_data()
for transform in transforms:
    x = transform(x)
train(make_net(), x, y)
