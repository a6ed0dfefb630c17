"""train, then evaluate"""
import subprocess
import sys

for step, *options in (["train", "--epochs", "4"], ["evaluate", "--resamples", "30"]):
    subprocess.run([sys.executable, "-m", f"steps.{step}", *options], check=True)
