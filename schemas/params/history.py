"""Notes of patients' visits, and summaries of them."""

from typing import Literal

from pydantic import Field

from schemas.params.base import Rising, Section
from schemas.params.measures import NoteQa


class VisitNotes(Section):
    """Writing the notes of visits."""

    max_attempts: int = Field(default=2, ge=1, le=8)
    """Notes written per visit, including the first."""
    max_tries: int = Field(default=3, ge=1, le=8)
    """Replies requested until one has the sections of a note."""


class Summarise(Section):
    """Summaries of patients' notes under a limit of words, and how they are measured."""

    patients: int = Field(default=16, ge=1)
    """Patients whose notes are summarised, a seeded sample."""
    visits: Rising = Field(default=[4, 8], min_length=2, max_length=2)
    """Fewest and most visits of these patients."""
    words: Rising = Field(default=[60, 120, 240], min_length=1)
    """Limits of the summaries; citation marks do not count."""
    purposes: list[Literal["referral", "discharge"]] = Field(default=["referral", "discharge"], min_length=1)
    """What each patient is summarised for."""
    judged: int = Field(default=6, ge=1)
    """Of these patients, those whose summaries are judged."""
    doses: Rising = Field(default=[0, 1, 2, 4, 8], min_length=2)
    """Facts removed from, and false ones added to, a summary of all facts."""
    claim_rounds: int = Field(default=12, ge=1)
    """Replies that may list the claims of a patient's notes, as doclens.claim_rounds."""


class HistoryQa(Section):
    """Questions about time on patients' visits, answered from their notes; what is not here is as in `NoteQa`."""

    questions: int = Field(default=4, ge=0)
    """A patient, from the record."""
    long_questions: int = Field(default=30, ge=0)
    """A patient whose notes exceed level 1."""
    level_tokens: Rising = Field(default=[3500, 7500, 16000], min_length=1)
    """Most tokens of level 1, of level 2, ..."""
    unanswerable_share: float = Field(default=0.2, ge=0, le=1)
    """Of the questions; above 0, every question offers "not told"."""
    versions: list[Literal["normal", "none"]] = Field(default=["normal", "none"], min_length=1)
    """none: questions without notes."""
    free_text: bool = True
    """In addition to multiple choice."""
    judge_takes: int = Field(default=1, ge=1)
    """Verdicts on each answer."""
    planted_questions: int = Field(default=24, ge=0)
    """Whose right and wrong answers measure the judge."""

    @property
    def answering(self) -> NoteQa:
        """The settings with which questions are answered and judged, as for `NoteQa`."""
        return NoteQa(**{name: value for name, value in self if name in NoteQa.model_fields})
