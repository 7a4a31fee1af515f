"""The device on which neural models compute."""

from typing import Literal

import torch

from schemas.errors import ParamsError
from schemas.params.base import Device


def torch_device(asked: Device, param: str) -> Literal["cpu", "cuda"]:
    """The device for the value ``asked`` of ``param``. Raises ParamsError for ``cuda`` where torch finds no GPU."""
    if asked == "cpu" or torch.cuda.is_available():
        return "cpu" if asked == "cpu" else "cuda"
    if asked == "auto":
        return "cpu"
    raise ParamsError(
        f"{param} is cuda, but torch {torch.__version__} finds no GPU; set {param} to auto or cpu, or install the "
        "GPU's driver and a build of torch for it"
    )
