"""DocLens on short questions and radiology impressions."""

from typing import Annotated, Literal

from pydantic import Field

from schemas.params.base import Section

Examples = Annotated[int, Field(ge=0, le=2)]


class Summaries(Section):
    """Outside documents to summarise and judge; evaluator and style are set in ``doclens``."""

    questions: int = Field(default=100, ge=1)  # of MeQSum, a seeded sample
    reports: int = Field(default=200, ge=1)  # radiology reports, a seeded sample, proportional by category
    radiology: str = "radiology/reports.jsonl"  # in sources.folder, from your MIMIC copy; docs/evaluation.md
    radiology_examples: str = "radiology/examples.jsonl"  # cited in-context examples by category; without it, built-in
    examples: list[Examples] = Field(default=[0, 1, 2])  # one system for each number of examples (of each category)
    without_citations: bool = False  # each of these systems once more, with a prompt that does not ask for citations
    question_claims: Literal["one", "listed"] = "one"  # a question is one claim, or its claims are listed by the judge
    question_outputs: dict[str, str] = Field(default_factory=dict)  # outside outputs by name: JSON lines in sources
    impression_outputs: dict[str, str] = Field(default_factory=dict)  # the same for impressions
