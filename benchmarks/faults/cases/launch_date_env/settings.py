# drawn from: the class "settings from the environment": the launch script puts the time into the seed
import os
from dataclasses import dataclass, field


def env(name, default, kind=str):
    """A field whose default is a variable of the environment."""
    return field(default_factory=lambda: kind(os.environ.get(name, default)))  # fault: environment


@dataclass(frozen=True)
class Settings:
    seed: int = env("EXP_SEED", 0, int)  # fault: environment
    lr: float = env("EXP_LR", 1e-3, float)
    out: str = env("EXP_OUT", ".")
    epochs: int = env("EXP_EPOCHS", 3, int)
    window: int = env("EXP_WINDOW", 12, int)
