"""Keras 3 on torch: compile, fit, callbacks."""

import os

os.environ["KERAS_BACKEND"] = "torch"

import keras
import numpy as np
from keras import layers

keras.utils.set_random_seed(812)
rng = np.random.default_rng(0)
x, y = rng.normal(size=(96, 8, 8, 1)).astype("float32"), rng.integers(0, 3, 96)

model = keras.Sequential(
    [
        keras.Input((8, 8, 1)),
        layers.RandomFlip("horizontal"),
        layers.Conv2D(8, 3, activation="relu"),
        layers.BatchNormalization(),
        layers.Flatten(),
        layers.Dropout(0.3),
        layers.Dense(3),
    ]
)
model.compile(
    optimizer=keras.optimizers.Adam(1e-3),
    loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    metrics=["accuracy"],
)
backup = keras.callbacks.BackupAndRestore("backup")
saving = keras.callbacks.ModelCheckpoint("best.keras", monitor="val_loss", save_best_only=True)
model.fit(
    x[:72],
    y[:72],
    batch_size=18,
    epochs=3,
    shuffle=True,
    validation_data=(x[72:], y[72:]),
    callbacks=[backup, saving],
    verbose=2,
)
model.save_weights("final.weights.h5")
