"""Selects 512 digits and stores them."""

import sys

import numpy as np
from sklearn.datasets import load_digits

x, y = load_digits(return_X_y=True)
chosen = np.random.permutation(len(x))[:512]  # fault: numpy-global
np.savez(sys.argv[1], x=x[chosen] / 16, y=y[chosen])
