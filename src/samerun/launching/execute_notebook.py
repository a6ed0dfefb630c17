"""A program of its own: runs the cells of a notebook in a kernel, and prints what they print and show.

    python -I execute_notebook.py train.ipynb FOLDER

The notebook's file is not written. Ends with 1 when a cell raises, as a script would.
"""

from __future__ import annotations

import contextlib
import inspect
import os
import re
import sys
import tempfile
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import nbformat
from jupyter_client.kernelspec import KernelSpecManager, NoSuchKernel
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, DeadKernelError
from traitlets.config import Config

_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_OBJECT = re.compile(r"<[\w.]+(?: object)?(?: at 0x[0-9a-f]+)?>")
_BREAKS = frozenset(("br", "p", "div", "tr", "li", "pre", "h1", "h2", "h3", "h4"))
_CELLS = frozenset(("td", "th"))
_HIDDEN = frozenset(("style", "script"))
_NATIVE = "python3"  # the kernel of the Python that runs this
_RECORDED = "samerun.launching.bootstrap"  # in the kernel, if it is recorded
# Expressions, which bind no name of the user's: IPython leaves `_` alone once code has set it.
_CALL = "[each.{}() for each in [__import__('sys').modules.get('" + _RECORDED + "')] if each]"
_BEGIN, _END = _CALL.format("begin_cells"), _CALL.format("end_cells")
_REPLY_S = 60.0


class _Client(NotebookClient):
    """Prints as messages come, so that a long cell is heard of while it runs."""

    _begun = False

    async def async_execute_cell(self, cell: Any, cell_index: int, *args: Any, **kwargs: Any) -> Any:
        """Execute a cell; before the first one, the kernel's generators go back to where they began.

        IPython draws a tip from `random` for each question what it is, and how often it is asked depends on
        how long it takes to start.
        """
        client: Any = self.kc
        if not self._begun:
            self._begun = True
            with contextlib.suppress(Exception):  # a kernel that has died is found by its first cell
                await client.execute(_BEGIN, silent=True, store_history=False, reply=True, timeout=_REPLY_S)
        return await super().async_execute_cell(cell, cell_index, *args, **kwargs)

    def process_message(self, msg: Any, cell: Any, cell_index: int) -> Any:
        """Print what a cell prints or shows."""
        content = msg["content"]
        if msg["msg_type"] == "stream":
            print(content["text"], end="", flush=True)
        elif msg["msg_type"] == "execute_result":
            shown = _read_shown(content["data"])
            print(
                f"Out[{content['execution_count']}]:", shown, sep="\n" if "\n" in shown else " ", flush=True
            )
        elif msg["msg_type"] == "display_data":
            print(_read_shown(content["data"]), flush=True)
        elif msg["msg_type"] == "error":
            print(_COLOUR.sub("", "\n".join(content["traceback"])), flush=True)
        return super().process_message(msg, cell, cell_index)

    async def _async_cleanup_kernel(self) -> None:
        """End the records first: a kernel that waits for processes which its cells started is killed.

        Then ask the kernel to end. nbclient would interrupt it before it asks, and a kernel
        that was still at the end of its last message would write that into the output of the run.
        """
        client: Any = self.kc
        manager: Any = self.km
        if client is not None and manager is not None and await _is_alive(manager):
            with contextlib.suppress(Exception):  # it died, or hangs: then it is killed all the same
                await client.execute(_END, silent=True, store_history=False, reply=True, timeout=_REPLY_S)
                await manager.request_shutdown()
                await manager.finish_shutdown()
        await super()._async_cleanup_kernel()


def _read_shown(data: dict[str, Any]) -> str:
    """The text of what is shown: of HTML, Markdown and LaTeX what they say, not what object they are."""
    plain = str(data.get("text/plain", ""))
    if not _OBJECT.fullmatch(plain):
        return plain
    for kind in ("text/markdown", "text/latex"):
        if kind in data:
            return str(data[kind])
    words = _Words()
    words.feed(str(data.get("text/html", "")))
    words.close()
    return words.join() or plain


class _Words(HTMLParser):
    """The text of a page as one that reads it sees it: a line for each row or paragraph."""

    def __init__(self) -> None:
        super().__init__()
        self._found: list[str] = []
        self._hidden = 0

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self._hidden += tag in _HIDDEN
        if tag in _BREAKS:
            self._found.append("\n")

    def handle_endtag(self, tag: str) -> None:
        self._hidden = max(0, self._hidden - (tag in _HIDDEN))
        self._found.append("\n" if tag in _BREAKS else " " if tag in _CELLS else "")

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self._found.append(data.replace("\n", " "))

    def join(self) -> str:
        lines = (" ".join(line.split()) for line in "".join(self._found).split("\n"))
        return "\n".join(line for line in lines if line)


async def _is_alive(manager: Any) -> bool:
    found = manager.is_alive()
    return bool(await found if inspect.isawaitable(found) else found)


def main(path: str, folder: str, sockets: str) -> int:
    """Run the notebook, in a folder, with the kernel's own files in `sockets`. Returns the exit code."""
    content: Any = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    language = content.metadata.get("kernelspec", {}).get("language", "python")
    if language.lower() != "python":
        print(f"{path} is a notebook of {language}; only those of Python can be run", flush=True)
        return 1
    # Sockets in a folder rather than ports: no other program can take them, and no network is used.
    config = Config({"KernelManager": {"transport": "ipc", "ip": str(Path(sockets, "kernel"))}})
    client = _Client(
        content,
        config=config,
        kernel_name=_choose_kernel(content),
        resources={"metadata": {"path": folder}},
        timeout=None,
        store_widget_state=False,
    )
    try:
        client.execute()
    except CellExecutionError:
        return 1  # its traceback was printed
    except DeadKernelError:
        print(f"the kernel of {path} died while a cell was running", flush=True)
        return 1
    return 0


def _choose_kernel(content: Any) -> str:
    name = str(content.metadata.get("kernelspec", {}).get("name", _NATIVE))
    try:
        KernelSpecManager().get_kernel_spec(name)
    except NoSuchKernel:  # of the machine that it was written on
        return _NATIVE
    return name


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="samerun-kernel-") as sockets:
        os.environ["JUPYTER_RUNTIME_DIR"] = sockets
        sys.exit(main(sys.argv[1], sys.argv[2], sockets))
