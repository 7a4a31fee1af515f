"""Computes on torch's device ``meta``, whose tensors have no values, instead of on a GPU, which few machines have."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

OTHER = "meta"
_VALUES = ("aten.is_nonzero.default", "aten.item.default", "aten._local_scalar_dense.default")


class OneDevice(TorchDispatchMode):
    """Fails on an operation whose tensors are on different devices, as a GPU does; counts those on ``OTHER``."""

    def __init__(self) -> None:
        super().__init__()
        self.operations = 0

    def __torch_dispatch__(
        self, func: Callable[..., Any], types: Sequence[Any], args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        tensors = [leaf for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, torch.Tensor)]
        devices = {tensor.device.type for tensor in tensors}
        assert len(devices) <= 1, f"{func}: tensors on {devices}"
        self.operations += OTHER in devices
        if OTHER in devices and str(func) in _VALUES:
            return False  # a model may look at a value on its way
        return func(*args, **(kwargs or {}))
