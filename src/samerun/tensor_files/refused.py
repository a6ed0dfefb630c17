"""Which names a pickle may hold: those of plain values and tensors. Whatever else it names is code."""

from __future__ import annotations

import re


class Refused(ValueError):
    """A pickle that names code."""


_NAMES = frozenset(
    {
        "_codecs.encode",
        "argparse.Namespace",
        "types.SimpleNamespace",
        "decimal.Decimal",
        "fractions.Fraction",
        "uuid.UUID",
        "copyreg._reconstructor",
        "copy_reg._reconstructor",
        "numpy.ndarray",
        "numpy.dtype",
        "torch.Size",
        "torch.Tensor",
        "torch.device",
        "torch._tensor._rebuild_from_type_v2",
        "torch.nn.parameter.Buffer",
        "torch.nn.parameter.Parameter",
        "torch.serialization._get_layout",
        "torch.storage.TypedStorage",
        "torch.storage.UntypedStorage",
        "torch.storage._load_from_bytes",
        "torch.torch_version.TorchVersion",
        "lightning.fabric.utilities.data.AttributeDict",
        "lightning_fabric.utilities.data.AttributeDict",
        "pytorch_lightning.utilities.parsing.AttributeDict",
    }
)
_FORMS = re.compile(
    r"""
    (builtins|__builtin__)\.(dict|list|set|frozenset|tuple|int|float|bool|str|bytes|bytearray|complex|slice|range
        |object|long|unicode)
    | collections\.(OrderedDict|defaultdict|Counter|deque)
    | pathlib(\._local)?\.(Pure)?(Posix|Windows)?Path
    | datetime\.(datetime|date|time|timedelta|timezone)
    | numpy\.(core|_core)\.(multiarray\.(_reconstruct|scalar)|numeric\._frombuffer)
    | numpy\.dtypes\.\w+
    | torch\.(bool|u?int\d+|b?float\d+(_\w+)?|complex\d+|q?u?int\d+(x\d)?|per_(tensor|channel)_\w+)
    | torch\.\w+Storage
    | torch\._utils\._rebuild_\w+
    | torch\.distributed\.checkpoint\.metadata\.\w+
    | torch\.distributed\.checkpoint\.filesystem\._Storage\w+
    """,
    re.VERBOSE,
)


def admit(name: str) -> None:
    """Raise Refused for a name that stands for code."""
    if name not in _NAMES and not _FORMS.fullmatch(name):
        raise Refused(f"its pickle names {name[:200]}: to load it would import that, and may run it")
