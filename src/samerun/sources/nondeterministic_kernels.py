"""Operations whose result depends on the order in which threads finish.

https://pytorch.org/docs/stable/generated/torch.use_deterministic_algorithms.html
"""

from __future__ import annotations

import ast
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from samerun.editing.edit import Edit, NoEdit, Opening
from samerun.editing.edit_builders import set_keyword
from samerun.editing.source_file import get_last_name
from samerun.errors import TooLate, UsageError
from samerun.runs.difference import Difference, Evidence, Strength
from samerun.runs.plan import Control
from samerun.sources.base.setting import Setting
from samerun.sources.evidence import op_families, settings_diff
from samerun.sources.patching import deterministic, held_flags
from samerun.sources.source import Kind, Label, Undo
from samerun.wrapping import undo_all

if TYPE_CHECKING:
    from samerun.editing.user_program import Code

VARIABLE = "CUBLAS_WORKSPACE_CONFIG"
_VALID = (":4096:8", ":16:8")  # https://docs.nvidia.com/cuda/cublas/#results-reproducibility
# On the CPU it is no race: its driver reads memory that nothing has written (ops/families/lstsq.py).
_LSTSQ, _DRIVER = "aten.linalg_lstsq", '"gelsd"'
_OTHER_DRIVER = (
    f"torch.linalg.lstsq(…, driver={_DRIVER}) on the CPU (a GPU has no such driver): the default one reads "
    "memory that nothing has written"
)
_MATRIX = ("A", "input")
_NAMED = (ast.Name, ast.Attribute, ast.expr_context)


class NondeterministicKernels(Setting):
    """Atomic additions and races, on the CPU too (`x[index]` backward with several threads)."""

    id = "nondeterministic-kernels"
    summary = "some operations add or store in whatever order their threads finish"
    advice = "torch.use_deterministic_algorithms(True)  # on CUDA, start with CUBLAS_WORKSPACE_CONFIG=:4096:8"
    kind = Kind.KERNEL
    price = Label(1, "deterministic algorithms")

    def environment(self, control: Control) -> Mapping[str, str]:
        """The user's own cuBLAS workspace when it is a repeatable one, else `:4096:8`; and the compiler's.

        Raises UsageError for one that is not repeatable.
        """
        own = os.environ.get(VARIABLE, "")
        if own and own not in _VALID:
            raise UsageError(
                f"{VARIABLE}={own!r} does not make cuBLAS repeatable; unset it, or set {' or '.join(_VALID)}"
            )
        compiler = os.environ.get(deterministic.VARIABLE, "1")
        return {VARIABLE: own or _VALID[0], deterministic.VARIABLE: compiler}

    def control(self, control: Control) -> Undo | None:
        """Deterministic algorithms, and samerun's own for what has none.

        In mode `warn` torch warns of what has none, and samerun's own stand in for what it says nothing of.

        The fill with NaN that torch turns on with them is off unless the control asks for it. Raises TooLate
        when CUDA runs already without a cuBLAS workspace.
        """
        if os.environ.get(VARIABLE) not in _VALID and _is_cuda_on():
            raise TooLate(
                f"CUDA is already in use and {VARIABLE} is {os.environ.get(VARIABLE)!r}: set it to "
                f"{_VALID[0]} in the environment, or call samerun before the first CUDA operation"
            )
        undo_flags = super().control(control)
        assert undo_flags is not None
        undo = undo_all([undo_flags, held_flags.hold_deterministic(self.note_held)])
        if control.mode not in ("strict", "warn"):
            return undo
        from samerun import ops

        if not ops.available():
            return undo
        if control.mode == "warn":
            take_out = ops.install_silent()
        else:
            ops.install()
            take_out = ops.uninstall

        return undo_all([undo, take_out])

    def read(self) -> dict[str, Any]:
        """The mode, and whether uninitialised memory is filled."""
        import torch

        return {
            "deterministic": torch.are_deterministic_algorithms_enabled(),
            "warn_only": torch.is_deterministic_algorithms_warn_only_enabled(),
            "fill": deterministic.get_memory_module().fill_uninitialized_memory,
        }

    def write(self, values: Mapping[str, Any]) -> None:
        """As torch's own functions do."""
        deterministic.switch(values["deterministic"], values["warn_only"])
        deterministic.get_memory_module().fill_uninitialized_memory = values["fill"]

    def repeatable(self, control: Control) -> Mapping[str, Any]:
        """Deterministic algorithms, strictly or with warnings."""
        return {"deterministic": True, "warn_only": control.mode == "warn", "fill": control.fill == "nan"}

    def describe(self) -> Mapping[str, Any]:
        """The flags, the cuBLAS workspace, and the operations that mode `strict` replaces here, and why."""
        from samerun import ops

        replaced = {f"strict replaces {name}": why for name, why in ops.reasons().items()}
        return {**self.read(), VARIABLE: os.environ.get(VARIABLE), **replaced}

    def recognise(self, difference: Difference) -> Evidence | None:
        """Equal inputs, other outputs, no random numbers, no uninitialised memory."""
        found = self._recognise(difference)
        return replace(found, advice=_OTHER_DRIVER) if found and _is_least_squares(difference) else found

    def _recognise(self, difference: Difference) -> Evidence | None:
        from samerun.sources.foreign_kernels import is_foreign
        from samerun.sources.stream_race import is_torn_copy

        origin = difference.origin
        if origin is None or not origin.inputs_equal or origin.draws or origin.reads_uninitialized:
            return None
        text = f"{origin.op} gave other bits for equal inputs, in {origin.phase}"
        if not settings_diff.is_alike(difference):
            text += ", as it does on another machine or with another number of threads"
            return Evidence(self.id, Strength.PLAUSIBLE, text, origin.call_site)
        if is_foreign(origin.op) or is_torn_copy(origin):
            return Evidence(self.id, Strength.SLIGHT, text, origin.call_site)
        settings = [side.settings.get(self.id, {}) for side in (difference.a, difference.b)]
        if all(said.get("deterministic") and not said.get("warn_only") for said in settings):
            text += ", though deterministic algorithms were on"
            return Evidence(self.id, Strength.PLAUSIBLE, text, origin.call_site)
        return Evidence(
            self.id,
            Strength.STRONG if _belongs_elsewhere(difference) else Strength.SEEN,
            text,
            origin.call_site,
        )

    def mend(self, difference: Difference, site: str | None, code: Code) -> Sequence[Edit]:
        """Deterministic algorithms; on CUDA with the cuBLAS workspace that they need."""
        from samerun.sources.edits import flags

        if _is_least_squares(difference):
            file, calls = code.calls(site)
            found = [each for each in calls if get_last_name(each) == "lstsq"]
            if not found:
                raise NoEdit(_OTHER_DRIVER)
            return [set_keyword(file, each, "driver", _name_driver(each)) for each in found]
        said = difference.a.settings.get(self.id, {})
        if said.get("deterministic") and not said.get("warn_only"):
            op = difference.origin.op if difference.origin else "the operation"
            raise NoEdit(f"deterministic algorithms are on, and {op} has none: compute it in another way")
        edits = flags.call_function(code, "torch.use_deterministic_algorithms", "True")
        # torch would fill new memory with NaN from then on: a training that reads some is another one then
        edits += flags.assign_where_unset(code, deterministic.FILL, "False")
        if op_families.uses_cuda(difference) and said.get(VARIABLE) not in _VALID:
            edits.append(Opening("os.environ", f'["{VARIABLE}"] = "{_VALID[0]}"'))
        return edits


def _is_least_squares(difference: Difference) -> bool:
    origin = difference.origin
    return origin is not None and origin.op.startswith(_LSTSQ) and not op_families.uses_cuda(difference)


def _name_driver(call: ast.Call) -> str:
    """The driver as code: that of the CPU, where nothing rules out that the same line works on a GPU too.

    There torch has `gels` alone. Raises NoEdit where the line does not have a name for the tensor.
    """
    first = call.args[0] if call.args else next((it.value for it in call.keywords if it.arg in _MATRIX), None)
    if first is None or not all(isinstance(node, _NAMED) for node in ast.walk(first)):
        raise NoEdit(_OTHER_DRIVER)
    return f"None if {ast.unparse(first)}.is_cuda else {_DRIVER}"


def _belongs_elsewhere(difference: Difference) -> bool:
    """Whether a source of one family of operations knows more."""
    return (
        op_families.is_cudnn(difference)
        or op_families.is_attention_backward(difference)
        or op_families.is_first_vector_math(difference)
    )


def _is_cuda_on() -> bool:
    import torch

    cuda: Any = torch.cuda
    return bool(cuda.is_initialized())
