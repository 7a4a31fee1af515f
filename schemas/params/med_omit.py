"""MED-OMIT."""

from typing import Literal

from pydantic import Field, model_validator

from schemas.params.base import Section


class FormSample(Section):
    """Size of the clinicians' form: the facts with which a test of the judge's omission share has the power.

    The test compares the shares of facts that judge and clinicians find omitted (McNemar, two-sided). MED-OMIT's
    Table 1 gives the agreement of its judge with clinicians: 80%.
    """

    power: float = Field(default=0.8, gt=0.5, lt=1)  # probability that the smallest difference is found
    difference: float = Field(default=0.1, gt=0, lt=1)  # smallest difference of the two shares to be found
    level: float = Field(default=0.05, gt=0, lt=0.5)  # of the two-sided test
    agreement: float = Field(default=0.8, gt=0, lt=1)  # expected share of facts on which judge and clinicians agree

    @model_validator(mode="after")
    def _difference_is_possible(self) -> "FormSample":
        if self.difference > 1 - self.agreement + 1e-9:
            raise ValueError(
                f"difference {self.difference:g} is impossible at an agreement of {self.agreement:g}; expected at most "
                f"{1 - self.agreement:g}"
            )
        return self


class MedOmit(Section):
    """Records to judge, and the weighting of omissions."""

    notes: int = Field(default=200, ge=1)  # records judged, a seeded sample
    variant: Literal["paper", "released"] = "paper"  # uniqueness of a fact as in the paper or in the released code
    compare_differentials: bool = True  # the paper's alternative: differential of the source against the summary's
    same_diagnosis: float = Field(default=0.8, ge=0, le=1)  # cosine at which two names are one diagnosis
    splits: list[Literal["test1", "test2", "test3"]] = Field(default=["test1"], min_length=1)  # of ACI-BENCH
    least_lines: int = Field(default=5, ge=1)  # a dialogue with fewer lines up to the end of the history is excluded
    removed_facts: int = Field(default=0, ge=0)  # facts that the writer removes from its summary, to test the judge
    form: FormSample = Field(default_factory=FormSample)  # facts on the clinicians' form
