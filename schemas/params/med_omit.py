"""MED-OMIT."""

from typing import Literal

from pydantic import Field

from schemas.params.base import Section


class MedOmit(Section):
    """Records to judge, and the weighting of omissions."""

    notes: int = Field(default=200, ge=1)  # records judged, a seeded sample
    variant: Literal["paper", "released"] = "paper"  # uniqueness of a fact as in the paper or in the released code
    compare_differentials: bool = True  # the paper's alternative: differential of the source against the summary's
    same_diagnosis: float = Field(default=0.8, ge=0, le=1)  # cosine at which two names are one diagnosis
    form_facts: int = Field(default=5, ge=1)  # facts an encounter on the clinicians' form
