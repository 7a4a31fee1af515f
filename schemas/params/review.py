"""The review protocol: number of notes, and raters."""

from pydantic import Field, field_validator

from schemas.params.base import Section


class Review(Section):
    """Number of notes, and raters that receive a form.

    SimSUM, Appendix E: 20 and 10 notes, five raters, and three other notes for practice, which are not counted.
    """

    with_symptoms: int = Field(default=20, ge=0)  # notes of records with a symptom
    without_symptoms: int = Field(default=10, ge=0)  # notes of the others
    practice: int = Field(default=3, ge=0)  # further notes to practise on: rated first, discussed, not counted
    raters: list[str] = Field(
        default=["rater_1", "rater_2", "rater_3", "rater_4", "rater_5"], min_length=1
    )  # one form each
    model_rater: bool = True  # the judge role rates the same notes under the same instructions

    @field_validator("raters")
    @classmethod
    def _file_names(cls, raters: list[str]) -> list[str]:
        bad = [r for r in raters if not r.replace("_", "").replace("-", "").isalnum() or not r.isascii()]
        if bad or len(set(raters)) < len(raters):
            raise ValueError(f"rater codes must be unique and of letters, digits, - and _; found {raters}")
        return raters
