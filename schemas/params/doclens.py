"""DocLens."""

from typing import Literal

from pydantic import Field

from schemas.params.base import Device, Section


class DocLens(Section):
    """Texts to judge, evaluator and prompt style."""

    notes: int = Field(default=200, ge=1)  # records judged, a seeded sample
    evaluator: Literal["instruction", "nli", "embedded"] = "instruction"  # instruction asks the judge role
    style: Literal["plain", "json", "cot", "json_cot"] = "json_cot"  # prompt of the evaluator
    examples: int = Field(default=2, ge=0, le=2)  # in-context examples of the evaluator
    nli_model: str | None = None  # name or folder of a Hugging Face sequence-pair or TRUE-style model
    nli_batch: int = Field(default=16, ge=1)  # pairs of a forward pass
    nli_device: Device = "cpu"  # auto: a GPU if there is one; its arithmetic may differ in the last bits
    citations: Literal["definition", "one_call"] = "definition"  # each citation alone, or all of a sentence in one call
    claims_a_reply: int = Field(default=30, ge=1)  # most claims listed at once; the rest is asked for in further rounds
    claim_rounds: int = Field(default=4, ge=1)  # claims beyond the last round are unscored and counted
    writer_examples: int = Field(default=0, ge=0, le=2)  # in-context examples of the cited texts
    style_claims: int = Field(default=5, ge=0)  # claims of each ACI-BENCH reference, judged in every prompt style
    systems: dict[str, str] = Field(default_factory=dict)  # outside outputs by name: CSV files in sources.folder
