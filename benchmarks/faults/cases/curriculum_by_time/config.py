"""Settings of a run, from the command line."""

import argparse
from dataclasses import dataclass, fields


@dataclass(frozen=True)
class Config:
    steps: int = 70
    batch_size: int = 24
    hidden: int = 40
    lr: float = 4e-3
    shortest: int = 4
    longest: int = 48
    warmup_seconds: float = 4.0
    seed: int = 3


def from_command_line() -> Config:
    parser = argparse.ArgumentParser()
    for field in fields(Config):
        parser.add_argument("--" + field.name.replace("_", "-"), type=type(field.default), default=field.default)
    return Config(**vars(parser.parse_args()))
