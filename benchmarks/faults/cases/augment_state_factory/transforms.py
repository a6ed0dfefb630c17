# drawn from: the class "a generator in an augmentation": RandomState() as the default of a dataclass in another file
from dataclasses import dataclass, field

import numpy as np


@dataclass
class Erase:
    """Sets a random rectangle to the mean, as in Random Erasing."""

    probability: float = 0.7
    largest: int = 5
    rng: np.random.RandomState = field(default_factory=np.random.RandomState)  # fault: numpy-generator

    def __call__(self, image):
        if self.rng.rand() > self.probability:
            return image
        h, w = self.rng.randint(1, self.largest, 2)
        top, left = self.rng.randint(0, image.shape[0] - h), self.rng.randint(0, image.shape[1] - w)
        image = image.copy()
        image[top : top + h, left : left + w] = image.mean()
        return image


@dataclass
class Normalize:
    mean: float
    std: float

    def __call__(self, image):
        return (image - self.mean) / self.std


@dataclass
class Pipeline:
    steps: list

    @classmethod
    def for_training(cls, mean, std):
        return cls([Erase(), Normalize(mean, std)])  # fault: numpy-generator

    @classmethod
    def for_evaluation(cls, mean, std):
        return cls([Normalize(mean, std)])

    def __call__(self, image):
        for step in self.steps:
            image = step(image)
        return image
