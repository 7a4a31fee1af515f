"""The measures: DocLens, MED-OMIT, note question answering, overlap; and the evaluation of the user's own texts."""

import re
from typing import Annotated, Literal

from pydantic import Field, field_validator, model_validator

from schemas.params.base import NAME, Device, Rising, Section
from schemas.params.llm import Role


class DocLens(Section):
    """Texts to judge, evaluator and prompt style."""

    notes: int = Field(default=200, ge=1)
    """Records judged, a seeded sample."""
    evaluator: Literal["instruction", "nli", "simulator"] = "instruction"
    """Instruction asks the judge role."""
    style: Literal["plain", "json", "cot", "json_cot", "graded", "clinician"] = "json_cot"
    """Prompt of the evaluator; graded: whole, part or none; clinician: what a physician takes from the text."""
    examples: int = Field(default=2, ge=0, le=2)
    """In-context examples of the evaluator."""
    nli_model: str | None = None
    """Name or folder of a Hugging Face sequence-pair or TRUE-style model."""
    nli_batch: int = Field(default=16, ge=1)
    """Pairs of a forward pass."""
    nli_device: Device = "cpu"
    """auto: a GPU if there is one; its arithmetic may differ in the last bits."""
    citations: Literal["definition", "one_call"] = "definition"
    """Each citation alone, or all of a sentence in one call."""
    claims_a_call: int = Field(default=20, ge=1)
    """Most claims judged in one call; style cot judges one."""
    claims_a_reply: int = Field(default=30, ge=1)
    """Most claims listed at once; the rest is asked for in further rounds."""
    claim_rounds: int = Field(default=4, ge=1)
    """Claims beyond the last round are unscored and counted."""
    writer_examples: int = Field(default=0, ge=0, le=2)
    """In-context examples of the cited texts."""
    systems: dict[str, str] = Field(default_factory=dict)
    """Outside outputs by name: CSV files in sources.folder."""


class FormSample(Section):
    """Size of the clinicians' form: the facts with which a test of the judge's omission share has the power.

    The test compares the shares of facts that judge and clinicians find omitted (McNemar, exact, two-sided). MED-OMIT's
    Table 1 gives the agreement of its judge with clinicians: 80%.
    """

    power: float = Field(default=0.8, gt=0.5, lt=1)
    """Probability that the smallest difference is found."""
    difference: float = Field(default=0.1, gt=0, lt=1)
    """Smallest difference of the two shares to be found."""
    level: float = Field(default=0.05, gt=0, lt=0.5)
    """Of the two-sided test."""
    agreement: float = Field(default=0.8, gt=0, lt=1)
    """Expected share of facts on which judge and clinicians agree."""
    correlation: float = Field(default=0.05, ge=0, lt=1)
    """Of their disagreements within a document; an assumption until labels tell."""
    show_judge: bool = False
    """Show the judge's grades of a fact after the clinician has given theirs."""

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

    notes: int = Field(default=200, ge=1)
    """Records judged, a seeded sample."""
    variant: Literal["paper", "released"] = "paper"
    """Uniqueness of a fact as in the paper or in the released code."""
    importance: Literal["differential", "note"] = "differential"
    """What a fact is graded for: the differential, as in the paper, or the note."""
    compare_differentials: bool = True
    """The paper's alternative: differential of the source against the summary's."""
    same_diagnosis: float = Field(default=0.8, ge=0, le=1)
    """Cosine at which two names are one diagnosis."""
    splits: list[Literal["test1", "test2", "test3"]] = Field(default=["test1"], min_length=1)
    """Of ACI-BENCH."""
    least_lines: int = Field(default=5, ge=1)
    """A dialogue with fewer lines up to the end of the history is excluded."""
    scope: Literal["auto", "whole", "history"] = "auto"
    """Of evaluations; history: subjective parts, against dialogues; auto: for ACI-BENCH's layout, else whole."""
    removed_facts: int = Field(default=0, ge=0)
    """Facts that the writer removes from its summary, to test the judge."""
    form: FormSample = Field(default_factory=FormSample)
    """Facts on the clinicians' form."""
    part_weight: float = Field(default=0.5, ge=0, le=1)
    """Of a fact that is omitted in part, in metric omission_weight_graded of summaries of patients over time."""
    weights: list[list[float]] = Field(default=[[1.0, 0.5, 0.25], [1.0, 0.2, 0.05], [1.0, 1.0, 1.0]])
    """Weights of critical, important and other facts, with which the systems are ranked again."""

    @field_validator("weights")
    @classmethod
    def _for_each_category(cls, given: list[list[float]]) -> list[list[float]]:
        if bad := [one for one in given if len(one) != 3 or not all(0 <= weight <= 1 for weight in one)]:
            raise ValueError(f"three weights from 0 to 1 each; found {bad[0]}")
        return given


ANSWERER = "answerer"
"""Name of the role's answerer among several."""


class NoteQa(Section):
    """A multiple-choice benchmark made from patients' notes (EHRNoteQA, Section 3)."""

    patients_by_notes: list[int] = Field(default=[10, 10, 10], min_length=1, max_length=3)
    """With one, two, three notes."""
    level_tokens: Rising = Field(default=[3500, 7500], min_length=1)
    """Most tokens of level 1, of level 2, ..., by an estimate."""
    truth_questions: int = Field(default=3, ge=0)
    """A patient, made from the record."""
    unanswerable_share: float = Field(default=0.25, ge=0, le=1)
    """Of those; above 0, every question offers "not told"."""
    generated_questions: int = Field(default=1, ge=0)
    """A patient, written by a model in two steps."""
    generation_temperature: float = Field(default=1.0, ge=0, le=2)
    """Of both steps, in place of the role's."""
    generation_attempts: int = Field(default=3, ge=1)
    """Attempts to generate usable choices."""
    versions: list[Literal["normal", "compact", "none"]] = Field(
        default=["normal", "compact", "none"],
        min_length=1,
    )
    """none: questions without notes."""
    free_text: bool = True
    """In addition to multiple choice."""
    judge_takes: int = Field(default=5, ge=1)
    """Verdicts on each answer."""
    planted_questions: int = Field(default=24, ge=0)
    """Whose right and wrong answers measure the judge."""
    protocol: Literal["vignette", "paper"] = "vignette"
    """paper: generation and judging as printed (Appendix A)."""

    @model_validator(mode="after")
    def _one_question(self) -> "NoteQa":
        if self.protocol == "paper" and self.generated_questions > 1:
            raise ValueError(
                f"generated_questions is {self.generated_questions}; protocol: paper generates one question a patient"
            )
        return self


class NoteQaOutside(Section):
    """Note question answering on the user's discharge summaries; all else is as in `NoteQa`."""

    answerers: dict[str, Role] = Field(default_factory=dict)
    """In addition to the role's answerer; by name."""

    @field_validator("answerers")
    @classmethod
    def _named(cls, answerers: dict[str, Role]) -> dict[str, Role]:
        if bad := [name for name in answerers if not re.fullmatch(NAME, name) or name == ANSWERER]:
            raise ValueError(f"names of answerers are letters, digits, '.', '_' and '-', not {ANSWERER}; found {bad}")
        return answerers


class Overlap(Section):
    """Model of BERTScore; the other overlap metrics have no params."""

    bert_score_model: str | None = None
    """Name or folder; null: BERTScore is listed as absent."""
    bert_score_layer: int | None = Field(default=None, ge=1)
    """Needed for a model that bert_score does not know."""


Examples = Annotated[int, Field(ge=0, le=2)]


class Summaries(Section):
    """Outside documents to summarise and judge; evaluator and style are set in ``doclens``."""

    questions: int = Field(default=100, ge=1)
    """Of MeQSum, a seeded sample."""
    reports: int = Field(default=200, ge=1)
    """Radiology reports, a seeded sample, proportional by category."""
    radiology: str = "radiology/reports.jsonl"
    """In sources.folder, from your MIMIC copy; docs/measures.md."""
    radiology_examples: str = "radiology/examples.jsonl"
    """Cited in-context examples by category; without it, built-in."""
    examples: list[Examples] = Field(default=[0, 1, 2])
    """One system for each number of examples (of each category)."""
    without_citations: bool = False
    """Each of these systems once more, with a prompt that does not ask for citations."""
    question_claims: Literal["one", "listed"] = "one"
    """A question is one claim, or its claims are listed by the judge."""
    question_outputs: dict[str, str] = Field(default_factory=dict)
    """Outside outputs by name: JSON lines in sources."""
    impression_outputs: dict[str, str] = Field(default_factory=dict)
    """The same for impressions."""


WriteBy = Annotated[list[Literal["whole", "section"]], Field(min_length=1)]


class Evaluate(Section):
    """One evaluation: its files, its metrics, and how texts are divided."""

    data: str
    """JSON Lines, JSON, CSV, Excel, parquet, texts, a Hugging Face dataset folder, or an Inspect eval log."""
    outputs: list[str] = Field(default_factory=list)
    """Further outputs: NAME=FILE, a file, a folder of files, or NAME=FOLDER of texts."""
    claims: str | None = None
    """Claims of the references: id and claims, or DocLens's release for ACI-BENCH."""
    map: dict[str, str] = Field(default_factory=dict)
    """Column by field: {reference: note}."""
    split: str | None = None
    """Of a dataset folder with several."""
    documents: int | None = Field(default=None, ge=1)
    """Only the first ones."""
    encoding: Literal["windows-1252", "iso-8859-1"] | None = None
    """Of files that are not UTF-8."""
    allow_empty: bool = False
    """Score an empty output as an empty text, instead of refusing it."""
    metrics: list[str] | None = Field(default=None, min_length=1)
    """Names of measures; null: all that need no answerer."""
    own: list[str] = Field(default_factory=list)
    """Python files with metrics of one's own (`tasks.measures.own`)."""
    sections: Literal["auto", "whole", "given", "soap", "headings"] = "auto"
    """auto: soap for ACI-BENCH's layout, given if the data lists sections, else whole."""
    planted: int = Field(default=0, ge=0)
    """References into which errors are planted, to measure the judge."""
    write: list[Examples] = Field(default_factory=list)
    """Numbers of in-context examples: cited outputs by the writer."""
    write_by: WriteBy = Field(default=["whole"])
    """section: a call for each part of the SOAP note of a dialogue."""
