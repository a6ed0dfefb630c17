# drawn from: the class "drawn while a module is imported", before main() can seed: here a default argument
import numpy as np
import torch


class VocalTract:
    """Scales the channels of a spectrogram, as another length of the vocal tract would."""

    def __init__(self, amount=0.5, shift=np.random.uniform(0.9, 1.1, size=40)):  # fault: numpy-global
        self.shift = torch.tensor(1 + amount * (shift - 1), dtype=torch.float32)

    def __call__(self, spectrum):
        return spectrum * self.shift
