"""conf/*.json, overridden by `section.key=value` words of the command line."""
import json
from pathlib import Path


def load(name, overrides):
    cfg = json.loads(Path("conf", f"{name}.json").read_text())
    for word in overrides:
        path, _, value = word.partition("=")
        section, key = path.split(".")
        cfg[section][key] = type(cfg[section][key])(value)
    return cfg
