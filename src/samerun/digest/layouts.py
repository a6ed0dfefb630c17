"""Every kind of tensor as a key and plain dense tensors.

The key holds what the parts do not show: the kind, the dtype, the shape, quantization parameters.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import torch

from samerun.digest.host import dispatch_key_names, require_memory, storage_address
from samerun.digest.keyed import make_tensor_key
from samerun.digest.unobserved import hide_ops
from samerun.digest.values import digest_value, name_type
from samerun.errors import DigestError
from samerun.interruption import is_the_scripts

Node = TypeVar("Node")
Leaf = Callable[[torch.Tensor], Node]
Join = Callable[[str, Sequence[Node]], Node]

_OWN_TYPES = frozenset({torch.Tensor, torch.nn.Parameter})
_COMPRESSED = {
    torch.sparse_csr: ("crow_indices", "col_indices"),
    torch.sparse_bsr: ("crow_indices", "col_indices"),
    torch.sparse_csc: ("ccol_indices", "row_indices"),
    torch.sparse_bsc: ("ccol_indices", "row_indices"),
}


def walk(t: torch.Tensor, leaf: Leaf[Node], join: Join[Node]) -> Node:
    """Open `t`: `leaf` of a dense strided tensor, else `join` of a key and the nodes of its parts.

    Leaves have any strides and device and no conjugate or negative bit. Everything runs inside `hide_ops()`.
    Raises DigestError for a tensor that has no bytes or that torch cannot read.
    """
    try:
        with hide_ops():
            return _walk(t, leaf, join)
    except DigestError:
        raise
    except Exception as error:  # torch has no kernel or no memory, or a subclass's own code fails
        if is_the_scripts(error):
            raise
        raise DigestError(
            f"a {name_type(type(t))} could not be read ({type(error).__name__}: {_take_first_line(error)}). "
            "Digest a plain copy of it, or leave it out."
        ) from error


def _walk(t: torch.Tensor, leaf: Leaf[Node], join: Join[Node]) -> Node:
    if type(t) not in _OWN_TYPES:
        return _walk_subclass(t, leaf, join)
    names = dispatch_key_names(t)
    _refuse_wrapped(t, names)
    if any(name.startswith("FuncTorch") for name in names):
        key, inner = _open_transformed(t)
        return join(key, [_walk(inner, leaf, join)])
    if t.layout is torch.strided and not (t.is_nested or t.is_quantized):
        if "ZeroTensor" in names:
            t = torch.zeros(t.shape, dtype=t.dtype, device=t.device)
        t = t.resolve_conj().resolve_neg()
        require_memory(t)
        return leaf(t)
    key, parts = _open(t)
    return join(key, [_walk(part, leaf, join) for part in parts])


def _open(t: torch.Tensor) -> tuple[str, list[torch.Tensor]]:
    if t.is_nested:  # has no shape of its own
        return f"nested {t.dtype} {t.dim()}", list(t.unbind())
    key = make_tensor_key(t.dtype, t.shape)
    if t.is_quantized:
        return _open_quantized(t, key)
    if t.is_mkldnn:
        return f"mkldnn {key}", [t.to_dense()]
    if t.layout is torch.sparse_coo:
        key = f"sparse_coo {key} sparse_dim={t.sparse_dim()} coalesced={t.is_coalesced()}"
        return key, [t._indices(), t._values()]
    if t.layout in _COMPRESSED:
        first, second = _COMPRESSED[t.layout]
        return f"{t.layout} {key}", [getattr(t, first)(), getattr(t, second)(), t.values()]
    raise DigestError(
        f"a tensor of layout {t.layout} (dtype {t.dtype}, shape {tuple(t.shape)}) cannot be digested: "
        "its bytes are not known to samerun. Convert it with .to_dense() first."
    )


def _take_first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]


def _walk_subclass(t: torch.Tensor, leaf: Leaf[Node], join: Join[Node]) -> Node:
    cls = type(t)
    name = name_type(cls)
    if cls.__module__.startswith("torch._subclasses."):
        raise DigestError(
            f"a {cls.__name__} has a shape and a dtype but no bytes to digest. "
            "Digest real tensors, outside FakeTensorMode, torch.export and the tracing of torch.compile."
        )
    if torch.nn.parameter.is_lazy(t):
        raise DigestError(
            f"a {cls.__name__} has no bytes to digest yet. Run the lazy module once on a real batch first."
        )
    if t.layout is torch.jagged:
        key, parts = _open_jagged(t)
        return join(key, [_walk(part, leaf, join) for part in parts])
    if cls.__name__ == "AsyncCollectiveTensor":
        waited: torch.Tensor = t.trigger_wait()  # type: ignore[attr-defined]  # in flight until then
        return _walk(waited, leaf, join)
    if hasattr(cls, "__tensor_flatten__"):
        attributes, context = t.__tensor_flatten__()  # type: ignore[attr-defined]
        inner = [(attribute, getattr(t, attribute)) for attribute in attributes]
        # What is not a tensor, and the wrapper's own description of itself, go into the key.
        rest = [(attribute, value) for attribute, value in inner if not isinstance(value, torch.Tensor)]
        described = digest_value((attributes, context, rest)).hex()
        key = f"subclass {name} {make_tensor_key(t.dtype, t.shape)} {described}"
        return join(key, [_walk(value, leaf, join) for _, value in inner if isinstance(value, torch.Tensor)])
    if _is_shell(t) and (held := _list_held(t)):
        key = f"shell {name} {make_tensor_key(t.dtype, t.shape)} {[attribute for attribute, _ in held]}"
        return join(key, [_walk(value, leaf, join) for _, value in held])
    return join(f"subclass {name}", [_walk(t.as_subclass(torch.Tensor), leaf, join)])


def _is_shell(t: torch.Tensor) -> bool:
    """Whether it has elements and no memory of its own, as those of `_make_wrapper_subclass`."""
    return t.layout is torch.strided and t.numel() > 0 and not storage_address(t)


def _list_held(t: torch.Tensor) -> list[tuple[str, torch.Tensor]]:
    """The tensors that a shell keeps as its own attributes, in the order in which they came."""
    attributes = getattr(t, "__dict__", None) or {}
    return [
        (attribute, value)
        for attribute, value in attributes.items()
        if isinstance(value, torch.Tensor) and value is not t
    ]


def _open_transformed(t: torch.Tensor) -> tuple[str, torch.Tensor]:
    """What stands for `t` inside torch.func, and the tensor behind it: of a vmap, all of its slices."""
    functorch = torch._C._functorch
    if not functorch.is_functorch_wrapped_tensor(t):
        raise DigestError(
            f"a tensor (dtype {t.dtype}) inside a function transform stands for other tensors, which torch "
            "does not give away. Digest it outside of the transform."
        )
    if functorch.is_batchedtensor(t):
        return f"vmap {functorch.maybe_get_bdim(t)}", functorch.get_unwrapped(t)
    return "transformed", functorch.get_unwrapped(t)


def _refuse_wrapped(t: torch.Tensor, names: frozenset[str]) -> None:
    if t.is_meta:
        raise DigestError(
            f"a meta tensor (dtype {t.dtype}, shape {tuple(t.shape)}) has no bytes to digest. "
            "Move the module to a real device first, with to_empty() and an initialisation."
        )
    wrapped = sorted(name for name in names if name.startswith(("Functionalize", "Batched")))
    if wrapped:
        raise DigestError(
            f"a tensor (dtype {t.dtype}) inside a function transform ({', '.join(wrapped)}) stands for other "
            "tensors and has no bytes of its own. Digest outside vmap and functionalization."
        )


def _open_quantized(t: torch.Tensor, key: str) -> tuple[str, list[torch.Tensor]]:
    scheme = t.qscheme()
    try:
        integers = t.int_repr()
    except RuntimeError as error:
        raise DigestError(
            f"a quantized tensor of dtype {t.dtype} and scheme {scheme} does not give its integers "
            f"({_take_first_line(error)}). Digest it with .dequantize()."
        ) from None
    key = f"quantized {scheme} {key}"
    if scheme in (torch.per_tensor_affine, torch.per_tensor_symmetric):
        return f"{key} {t.q_scale().hex()} {t.q_zero_point()}", [integers]
    key = f"{key} {t.q_per_channel_axis()}"
    return key, [integers, t.q_per_channel_scales(), t.q_per_channel_zero_points()]


def _open_jagged(t: Any) -> tuple[str, list[torch.Tensor]]:
    """Values and offsets; components that leave holes between them are packed first (one copy to the host).

    The cached extremes of the lengths are left out: they come and go without a change of the tensor.
    """
    values, offsets, lengths = t._values, t._offsets, t._lengths
    ragged = t._ragged_idx
    if lengths is not None:
        spans = zip(offsets.tolist(), lengths.tolist(), strict=False)
        values = torch.cat([values.narrow(ragged - 1, start, length) for start, length in spans], ragged - 1)
        offsets = torch.nn.functional.pad(lengths.cumsum(0), (1, 0))
    return f"jagged {t.dtype} {t.dim()} ragged={ragged}", [values, offsets]
