"""The defaults are in defaults.json; --set key=value changes one."""

import argparse
import json
from pathlib import Path
from types import SimpleNamespace

DEFAULTS = Path(__file__).parent / "defaults.json"


def load_config():
    parser = argparse.ArgumentParser()
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE")
    values = json.loads(DEFAULTS.read_text())
    for item in parser.parse_args().set:
        key, _, value = item.partition("=")
        if key not in values:
            parser.error(f"no such setting: {key}")
        values[key] = type(values[key])(value)
    return SimpleNamespace(**values)
