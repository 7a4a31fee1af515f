"""Evaluation of the user's own texts."""

from typing import Annotated, Literal

from pydantic import Field

from schemas.params.base import Section

MetricName = Literal["doclens", "med_omit", "overlap", "qa"]
Examples = Annotated[int, Field(ge=0, le=2)]
WriteBy = Annotated[list[Literal["whole", "section"]], Field(min_length=1)]


class Evaluate(Section):
    """One evaluation: its files, its metrics, and how texts are divided."""

    data: str  # JSON Lines, JSON, CSV, parquet, a Hugging Face dataset folder, or an Inspect eval log
    outputs: list[str] = Field(default_factory=list)  # further outputs: NAME=FILE, a file, or a folder of files
    claims: str | None = None  # claims of the references: id and claims, or DocLens's release for ACI-BENCH
    map: dict[str, str] = Field(default_factory=dict)  # column by field: {reference: note}
    split: str | None = None  # of a dataset folder with several
    documents: int | None = Field(default=None, ge=1)  # only the first ones
    allow_empty: bool = False  # score an empty output as an empty text, instead of refusing it
    metrics: list[MetricName] = Field(default=["doclens", "med_omit", "overlap"], min_length=1)
    sections: Literal["auto", "whole", "given", "soap", "headings"] = "auto"  # auto: soap for ACI-BENCH's layout,
    # given if the data lists sections, else whole
    omissions: Literal["auto", "whole", "history"] = "auto"  # history: subjective part against the dialogue's history;
    # auto: history for ACI-BENCH's layout, else whole
    planted: int = Field(default=0, ge=0)  # references into which errors are planted, to measure the judge
    write: list[Examples] = Field(default_factory=list)  # numbers of in-context examples: cited outputs by the writer
    write_by: WriteBy = Field(default=["whole"])  # section: a call for each part of the SOAP note of a dialogue
