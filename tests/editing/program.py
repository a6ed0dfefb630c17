"""A program to read and to edit: files written into a folder, and what the edits of one of them give."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from pathlib import Path

from samerun.editing.edit import Edit
from samerun.editing.merge_edits import merge_edits
from samerun.editing.source_file import File
from samerun.editing.user_program import Code


def file(text: str) -> File:
    return File("train.py", text, "utf-8")


def call(of: File, nth: int = 0) -> ast.Call:
    return list(of.every(ast.Call))[nth]


def program(folder: Path, files: Mapping[str, str], *argv: str) -> Code:
    """The program that `python *argv` started, train.py unless said otherwise."""
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(text.encode())
    return Code(folder, ("python", *(argv or ("train.py",))), dict.fromkeys(files, ""))


def edited(folder: Path, text: str, *edits: Edit) -> str:
    return merge_edits(program(folder, {"train.py": text}), edits)["train.py"]
