"""Kernels of libraries beside torch, which its deterministic algorithms do not reach.

What each does, its switch, and the version that the switch came with, were read in the libraries' own sources
and release notes on 2026-11-27; docs/explanations/foreign-kernels.md has them with their sources.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from samerun.runs.difference import Difference, Evidence, Strength
from samerun.runs.plan import Control
from samerun.sources.evidence import op_families, settings_diff
from samerun.sources.patching import imported
from samerun.sources.source import Kind, Source, Undo
from samerun.wrapping import undo_all, wrap_attribute


@dataclass(frozen=True)
class Library:
    """One library: what of it does not repeat, and how it can be made to."""

    name: str  # as it is imported
    what: str
    operations: tuple[str, ...] = ()  # how the names of its operations of torch begin
    extensions: tuple[str, ...] = ()  # its compiled modules
    variables: tuple[tuple[str, str], ...] = ()  # the switch, of the environment
    functions: tuple[str, ...] = ()  # those of `module` that take `deterministic=True`
    module: str = ""
    below: int = 0  # the size of heads from which on `deterministic=True` is refused
    since: str = ""  # the version that brought the switch
    instead: str = ""  # where there is none


LIBRARIES = (
    Library(
        "flash_attn",
        "the backward pass adds the gradient of the queries atomically",
        operations=("flash_attn._flash_attn_backward", "flash_attn._flash_attn_varlen_backward"),
        extensions=("flash_attn_2_cuda",),
        variables=(("FLASH_ATTENTION_DETERMINISTIC", "1"),),  # which transformers passes on
        functions=(
            "flash_attn_func",
            "flash_attn_kvpacked_func",
            "flash_attn_qkvpacked_func",
            "flash_attn_varlen_func",
            "flash_attn_varlen_kvpacked_func",
            "flash_attn_varlen_qkvpacked_func",
        ),
        module="flash_attn.flash_attn_interface",
        since="2.4.1",
    ),
    Library(
        "flash_attn_interface",
        "the backward pass adds gradients atomically; builds of 2025-01 to 2025-09 ignore the switch",
        operations=("flash_attn_3.",),
        functions=("flash_attn_func", "flash_attn_varlen_func", "flash_attn_qkvpacked_func"),
        module="flash_attn_interface",
        below=256,
        since="3",
    ),
    Library(
        "transformer_engine",
        "fused attention's backward pass, and its mHC and grouped-bias kernels, add atomically",
        operations=("tex.", "te_attention.", "te_softmax.", "te_moe."),
        extensions=("transformer_engine_torch",),
        variables=(("NVTE_ALLOW_NONDETERMINISTIC_ALGO", "0"),),
        since="0.6",
    ),
    Library(
        "mamba_ssm",
        "its backward passes add atomically; the switch reaches the SSD kernels of Triton alone",
        extensions=("selective_scan_cuda",),
        variables=(("MAMBA_DETERMINISTIC", "1"),),
        since="2.3.0",
        instead="for selective_scan there is none: use Mamba-2's kernels, or selective_scan_ref",
    ),
    Library(
        "causal_conv1d",
        "the backward pass adds the gradients of weights and bias atomically",
        operations=("DaoAILab._causal_conv1d_bwd",),
        extensions=("causal_conv1d_cuda",),
        variables=(("CAUSAL_CONV1D_DETERMINISTIC", "1"),),
        since="1.6.0",
    ),
    Library(
        "torch_scatter",
        "products, and sums by segment_coo, are atomic",
        operations=("torch_scatter.",),
        instead="segment_csr repeats itself; scatter_sum and scatter_mean do in torch's deterministic mode",
    ),
    Library(
        "pyg_lib",
        "scatter and segment_coo add atomically",
        operations=("pyg.",),
        instead="segment_csr repeats itself; without pyg_lib, torch_geometric uses torch's own operations",
    ),
    Library(
        "natten",
        "the fused backward pass adds atomically",
        operations=("natten.",),
        instead="torch.use_deterministic_algorithms(True), which it follows since 0.17.0",
    ),
    Library(
        "xformers",
        "the backward pass of memory-efficient attention adds atomically",
        operations=("xformers_flash.", "xformers."),
        instead="torch.use_deterministic_algorithms(True), without warn_only, which it follows since 0.0.22",
    ),
    Library("gsplat", "backward passes add atomically", operations=("gsplat.",)),
    Library(
        "diff_gaussian_rasterization",
        "the backward pass adds atomically",
        extensions=("diff_gaussian_rasterization._C",),
    ),
    Library("MinkowskiEngine", "convolutions add atomically", extensions=("MinkowskiEngineBackend._C",)),
    Library("torchsparse", "convolutions add atomically", extensions=("torchsparse.backend",)),
    Library("bitsandbytes", "norms of updates are added atomically", operations=("bitsandbytes.",)),
    Library(
        "k2",
        "sums along paths are added atomically",
        extensions=("_k2",),
    ),
    Library(
        "apex",
        "group norm, focal loss and index_mul_2d add atomically",
        extensions=("group_norm_cuda", "focal_loss_cuda", "fused_index_mul_2d"),
    ),
)
EXTENSIONS = tuple(name for library in LIBRARIES for name in library.extensions)
# The first parts of the names of operations that are torch's, or that torch's compiler made.
_OF_TORCH = re.compile(
    r"aten|prims?|inductor(_prims)?|_?c10d(_functional(_autograd)?)?|profiler|quantized(_decomposed)?|torchvision"
    r"|torchaudio|mkldnn|mkl|xla|sparse|rngprims|symm_mem|higher_order|debugprims|fsdp|dtensor|streams"
)
_LAUNCH = ("cupy", "numba", "taichi", "warp", "pycuda")  # kernels of the program's own, on torch's memory
_OF_YOURS = (
    "add in a fixed order in that kernel: to places of its own for each block, which are added afterwards, "
    "in the place of atomic additions"
)
_WITH_KEYWORD = {library.module: library for library in LIBRARIES if library.module}


class ForeignKernels(Source):
    """flash_attn, Transformer Engine, mamba and others: torch's flag is not theirs.

    The control turns on their own switches, where they have one and nothing else is said.
    """

    id = "foreign-kernels"
    summary = "a kernel of another library adds in whatever order its threads finish"
    advice = "turn on the library's own deterministic mode, where it has one"
    cannot_mend = "the library has its own switch, or none: docs/explanations/foreign-kernels.md has its row"
    kind = Kind.KERNEL
    modes = ("strict", "warn")
    also_hooks_into = tuple(_WITH_KEYWORD)
    variables = tuple(name for library in LIBRARIES for name, _ in library.variables)

    def __init__(self) -> None:
        self._controlled: set[str] = set()

    def environment(self, control: Control) -> Mapping[str, str]:
        """The switches that are variables; the user's own values stay."""
        switches = [switch for library in LIBRARIES for switch in library.variables]
        return {name: os.environ.get(name, value) for name, value in switches}

    def control(self, control: Control) -> Undo | None:
        """`deterministic=True` where a call of the library's functions does not say otherwise."""
        return imported.patch_new(
            self._controlled,
            {name: _make_patch(library) for name, library in _WITH_KEYWORD.items()},
        )

    def describe(self) -> Mapping[str, Any]:
        """The switches of the libraries that are imported."""
        there = [library for library in LIBRARIES if library.name in sys.modules]
        return {name: os.environ.get(name) for library in there for name, _ in library.variables}

    def recognise(self, difference: Difference) -> Evidence | None:
        """A switch differed; or an operation of such a library gave other bits for equal inputs."""
        switched = settings_diff.find_differing(self.id, difference)
        if switched is not None:
            return switched
        origin = difference.origin
        if origin is None or origin.draws or origin.reads_uninitialized:
            return None
        if not origin.inputs_equal:
            return self._past_torch(difference)
        text = f"{origin.op} gave other bits for equal inputs"
        library = find_library(origin.op)
        if library is not None:
            text += f": of {library.name}, {library.what}"
            free = not (library.variables or library.functions)
            return Evidence(
                self.id, Strength.SEEN, text, origin.call_site, _advise(library), beyond_control=free
            )
        if not is_foreign(origin.op):
            return None
        text += ", and is a kernel of the program's own, or of a library's"
        return Evidence(self.id, Strength.STRONG, text, origin.call_site, _OF_YOURS, beyond_control=True)

    def _past_torch(self, difference: Difference) -> Evidence | None:
        """Memory was written past torch, beside a library that launches kernels on a device."""
        from samerun.sources.packages import Packages

        gap = difference.gap
        if gap is None or not op_families.uses_cuda(difference) or difference.a.rows("threads"):
            return None
        # of the whole run: such a library is often imported where it is first called
        settings = {**difference.a.settings, **difference.a.manifest.get("settings", {})}
        there = [name for name in _LAUNCH if name in settings.get(Packages.id, {})]
        if not there:
            return None
        text = (
            f"memory was written past torch between {gap.seen_at or gap.written_at} and {gap.met_at}, where "
            f"{' and '.join(there)} may launch kernels"
        )
        site = gap.seen_at or gap.written_at
        return Evidence(self.id, Strength.PLAUSIBLE, text, site, _OF_YOURS, beyond_control=True)


def is_foreign(operation: str) -> bool:
    """Whether an operation, by the name it is recorded under, is a kernel that torch does not have."""
    namespace, separator, _ = operation.partition(".")
    return bool(separator) and _OF_TORCH.fullmatch(namespace.partition("::")[0]) is None


def find_library(operation: str) -> Library | None:
    """The library that an operation is of, by the name it is recorded under."""
    for library in LIBRARIES:
        begins: Sequence[str] = (*library.operations, *(f"{name}." for name in library.extensions))
        if operation.startswith(tuple(begins)):
            return library
    return None


def _advise(library: Library) -> str:
    ways = [f"{name}={value} in the environment" for name, value in library.variables]
    if library.functions:
        ways.append(f"{library.functions[0]}(…, deterministic=True)")
    since = f" ({library.name} {library.since})" if library.since else ""
    parts = [" and ".join(ways) + since] if ways else []
    if library.instead:
        parts.append(library.instead)
    return "; ".join(parts) or f"{library.name} has no deterministic mode: compute this part in another way"


def _make_patch(library: Library) -> Callable[[], Undo]:
    def ask(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        code = getattr(original, "__code__", None)
        names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount] if code is not None else ()
        size = args[0].shape[-1] if args and hasattr(args[0], "shape") else 0
        refused = library.below and not 0 < size < library.below
        if "deterministic" in names and names.index("deterministic") >= len(args) and not refused:
            kwargs = {"deterministic": True, **kwargs}
        return original(*args, **kwargs)

    def patch() -> Undo:
        module = sys.modules[library.module]
        functions = [name for name in library.functions if hasattr(module, name)]
        return undo_all([wrap_attribute(module, name, ask) for name in functions])

    return patch
