# drawn from: the class "the launcher names the run": the trainer derives its seed from the name in its environment
"""Starts trainers, each with a run id and a folder, and reports how they ended."""
import argparse
import os
import subprocess
import sys
import uuid
from pathlib import Path


def new_run(root):
    run_id = uuid.uuid4().hex[:12]  # fault: os-entropy
    folder = root / "run"
    folder.mkdir(parents=True, exist_ok=True)
    return {"RUN_ID": run_id, "RUN_DIR": str(folder)}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--root", type=Path, default=Path("runs"))
    parser.add_argument("--trainer", default="trainer.main")
    args, rest = parser.parse_known_args()
    env = {**os.environ, **new_run(args.root)}
    done = subprocess.run([sys.executable, "-m", args.trainer, *rest], env=env)
    print("trainer ended with", done.returncode)
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
