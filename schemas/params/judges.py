"""How judges and annotator are measured: planted cases, and forms for people."""

from pydantic import Field, field_validator

from schemas.params.base import Section


class PlantedErrors(Section):
    """Number of planted errors on which the consistency check is measured, and of planted assertions of symptoms."""

    each: int = Field(default=200, ge=1)
    """Of each kind."""
    rounds: int = Field(default=40, ge=1)
    """Passes over the prompts until there are enough errors."""
    assertions: int = Field(default=100, ge=0)
    """Phrases of each class (present, absent, possible, past, other person), to measure assertions of spans with."""


class Calibrate(Section):
    """Number of planted cases on which the judge is measured."""

    notes: int = Field(default=100, ge=2)
    """Notes whose claims are used, changed and swapped."""
    facts: int = Field(default=3, ge=1)
    """Sentences removed from each note on purpose."""
    rounds: int = Field(default=4, ge=1)
    """Notes with planted errors by the simulator, per prompt."""
    nli_models: list[str] = Field(default_factory=list)
    """Names or folders of NLI models that judge the planted claims too."""


class Review(Section):
    """Number of notes, and raters that receive a form.

    SimSUM, Appendix E: 20 and 10 notes, five raters, and three other notes for practice, which are not counted. Where
    there are fewer notes, all are drawn.
    """

    with_symptoms: int = Field(default=20, ge=0)
    """Notes of records with a symptom."""
    without_symptoms: int = Field(default=10, ge=0)
    """Notes of the others."""
    practice: int = Field(default=3, ge=0)
    """Further notes to practise on: rated first, discussed, not counted."""
    raters: list[str] = Field(default=["rater_1", "rater_2", "rater_3", "rater_4", "rater_5"], min_length=1)
    """One form each."""
    model_rater: bool = True
    """The judge role rates the same notes under the same instructions."""

    @field_validator("raters")
    @classmethod
    def _file_names(cls, raters: list[str]) -> list[str]:
        bad = [r for r in raters if not r.replace("_", "").replace("-", "").isalnum() or not r.isascii()]
        if bad or len(set(raters)) < len(raters):
            raise ValueError(f"rater codes must be unique and of letters, digits, - and _; found {raters}")
        return raters


class SpanReview(Section):
    """Size of the form on which a reader marks wrong and missing phrases (SimSUM, Section 2.3: 100 notes)."""

    notes: int = Field(default=100, ge=1)
    """Records, each with its normal and compact note."""
