"""Note question answering: patients, questions, answering and judging."""

import re
from typing import Literal

from pydantic import Field, field_validator, model_validator

from schemas.params.base import Section
from schemas.params.llm import Role

ANSWERER = "answerer"
"""Name of the role's answerer among several."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


class NoteQa(Section):
    """A multiple-choice benchmark made from patients' notes (EHRNoteQA, Section 3)."""

    patients_by_notes: list[int] = Field(default=[10, 10, 10], min_length=1, max_length=3)  # with one, two, three notes
    level_tokens: list[int] = Field(default=[3500, 7500], min_length=1)  # most tokens of level 1, of level 2, ...
    tokenizer: str = "estimate"  # or "tiktoken:<encoding>", where its file is at hand
    truth_questions: int = Field(default=3, ge=0)  # a patient, made from the record
    unanswerable_share: float = Field(default=0.25, ge=0, le=1)  # of those; above 0, every question offers "not told"
    generated_questions: int = Field(default=1, ge=0)  # a patient, written by a model in two steps
    generation_temperature: float = Field(default=1.0, ge=0, le=2)  # of both steps, in place of the role's
    generation_attempts: int = Field(default=3, ge=1)  # attempts to generate usable choices
    versions: list[Literal["normal", "compact", "none"]] = Field(
        default=["normal", "compact", "none"],
        min_length=1,  # none: questions without notes
    )
    free_text: bool = True  # in addition to multiple choice
    judge_takes: int = Field(default=5, ge=1)  # verdicts on each answer
    planted_questions: int = Field(default=24, ge=0)  # whose right and wrong answers measure the judge
    protocol: Literal["vignette", "paper"] = "vignette"  # paper: generation and judging as printed (Appendix A)

    @field_validator("level_tokens")
    @classmethod
    def _rising(cls, limits: list[int]) -> list[int]:
        if sorted(set(limits)) != limits or limits[0] <= 0:
            raise ValueError(f"must rise from above 0; found {limits}")
        return limits

    @model_validator(mode="after")
    def _one_question(self) -> "NoteQa":
        if self.protocol == "paper" and self.generated_questions > 1:
            raise ValueError(
                f"generated_questions is {self.generated_questions}; protocol: paper generates one question a patient"
            )
        return self


class NoteQaOutside(Section):
    """Note question answering on the user's discharge summaries; all else is as in `NoteQa`."""

    answerers: dict[str, Role] = Field(default_factory=dict)  # in addition to the role's answerer; by name

    @field_validator("answerers")
    @classmethod
    def _named(cls, answerers: dict[str, Role]) -> dict[str, Role]:
        if bad := [name for name in answerers if not _NAME.fullmatch(name) or name == ANSWERER]:
            raise ValueError(f"names of answerers are letters, digits, '.', '_' and '-', not {ANSWERER}; found {bad}")
        return answerers
