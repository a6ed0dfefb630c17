"""A stand-in for the compiled operators of torchvision where these cannot be loaded.

torchvision's wheel on the index is built for CUDA, and its operators do not load beside a CPU build of torch.
Without them it cannot even be imported, nor timm, fastai, Ultralytics and others that import it.
"""

import importlib.abc
import importlib.util
import sys
from pathlib import Path


class Operators(importlib.abc.MetaPathFinder):
    """Defines them as torchvision is imported."""

    def find_spec(self, name, path=None, target=None):
        """The module's own spec, whose loader sees to it that torch has operators of that name."""
        if name != "torchvision":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        sys.meta_path.insert(0, self)  # whoever only asks for the spec does not import it
        if spec is not None:
            execute = spec.loader.exec_module

            def exec_module(module):
                loaded = _load(Path(spec.origin).with_name("_C.so"))
                if not loaded:
                    _define()
                execute(module)
                if not loaded:
                    module.extension._has_ops = lambda: True

            spec.loader.exec_module = exec_module
        return spec


def _load(library):
    import torch

    try:
        torch.ops.load_library(library)
    except OSError:
        return False
    return True


def _define():
    import torch

    def nms(boxes, scores, iou_threshold):
        order, kept = scores.argsort(descending=True, stable=True), []
        area = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
        while len(order):
            first, order = order[0], order[1:]
            kept.append(first)
            low = torch.maximum(boxes[first, :2], boxes[order, :2])
            high = torch.minimum(boxes[first, 2:], boxes[order, 2:])
            inside = (high - low).clamp(min=0).prod(1)
            order = order[inside / (area[first] + area[order] - inside) <= iou_threshold]
        return torch.stack(kept) if kept else torch.empty(0, dtype=torch.int64)

    defined = torch.library.Library("torchvision", "DEF")
    for name in ("nms", "qnms"):
        defined.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    defined.impl("nms", nms, "CPU")
    KEPT.append(defined)


KEPT = []
sys.meta_path.insert(0, Operators())
