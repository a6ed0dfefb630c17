"""Words to numbers."""
import argparse
import json
from pathlib import Path

parser = argparse.ArgumentParser()
parser.add_argument("--text", type=Path, required=True)
parser.add_argument("--out", type=Path, required=True)
args = parser.parse_args()
letters = args.text.read_text()
alphabet = sorted(set(letters))
index = {letter: number for number, letter in enumerate(alphabet)}
args.out.write_text(json.dumps({"alphabet": alphabet, "ids": [index[letter] for letter in letters]}))
