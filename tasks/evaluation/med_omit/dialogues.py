"""MED-OMIT on ACI-BENCH (Table 3): dialogues truncated to the history, subjective summaries of several systems."""

from collections.abc import Container, Iterable, Mapping, Sequence

import pandas as pd
from pydantic import ValidationInfo, field_validator

from schemas.params.med_omit import MedOmit
from schemas.params.overlap import Overlap
from tasks.evaluation.documents.model import Document
from tasks.evaluation.med_omit.diagnosis_names import Encode
from tasks.evaluation.med_omit.judging import Unscored, judge_omissions
from tasks.evaluation.overlap.tables import score_texts
from tasks.llm.calls import Ask, Call, Reply
from tasks.llm.prompts import render
from tasks.llm.reply_length import tokens_needed
from tasks.llm.unscored import unscored_row
from tasks.text.soap import split_soap

WRITER = "writer"
_PACKAGE = "tasks.evaluation.med_omit"


class EndOfHistory(Reply):
    """The number of the last line on the patient's report."""

    last_line: int

    @field_validator("last_line")
    @classmethod
    def _is_in_the_dialogue(cls, given: int, info: ValidationInfo) -> int:
        lines = (info.context or {}).get("lines")
        if lines is not None and not 0 <= given < lines:
            raise ValueError(f"line {given} is not in the dialogue, whose lines are 0 to {lines - 1}")
        return given


async def judge_dialogues(
    writer: Ask, judge: Ask, documents: Sequence[Document], params: MedOmit, encode: Encode
) -> tuple[dict[str, pd.DataFrame], Unscored]:
    """Tables facts, omitted, differences, differentials and summaries, and the unscored rows.

    The writer's own summaries are judged as one more system. Dialogues that are too short when truncated are excluded
    (Section 4) and listed as unscored.
    """
    truncated, untruncated = await truncate_dialogues(judge, {document.id: document.text for document in documents})
    truncated, short = without_short(truncated, params.least_lines)
    written, unwritten = await _write_summaries(writer, truncated)
    summaries = {WRITER: written} | subjective_parts(documents, truncated)
    tables, unscored = await judge_summaries(judge, truncated, summaries, params, encode)
    return tables, [*untruncated, *short, *unwritten, *unscored]


def without_short(dialogues: Mapping[str, str], least: int) -> tuple[dict[str, str], Unscored]:
    """The dialogues with at least ``least`` lines, and the others as unscored rows."""
    lines = {key: dialogue.count("\n") + 1 for key, dialogue in dialogues.items()}
    reason = f"fewer lines up to the end of the history than med_omit.least_lines, {least}"
    short = [unscored_row(key, "truncate", f"{n}: {reason}", None) for key, n in lines.items() if n < least]
    return {key: dialogue for key, dialogue in dialogues.items() if lines[key] >= least}, short


async def judge_summaries(
    judge: Ask,
    sources: dict[str, str],
    summaries: dict[str, dict[str, str]],
    params: MedOmit,
    encode: Encode,
) -> tuple[dict[str, pd.DataFrame], Unscored]:
    """The tables of `judge_omissions` and summaries (by system and document), and the unscored rows."""
    tables, unscored = await judge_omissions(judge, sources, summaries, params, encode)
    rows = [(key, system, text) for system, texts in summaries.items() for key, text in texts.items()]
    shown = pd.DataFrame(rows, columns=["document", "system", "summary"]).astype("str")
    return {**tables, "summaries": shown}, unscored


def subjective_parts(documents: Iterable[Document], among: Container[str]) -> dict[str, dict[str, str]]:
    """The subjective section of the outputs of the documents ``among``, by system and document."""
    found: dict[str, dict[str, str]] = {}
    for document in documents:
        if document.id in among:
            for system, text in document.outputs.items():
                found.setdefault(system, {})[document.id] = split_soap(text).get("subjective", "")
    return found


async def truncate_dialogues(ask: Ask, dialogues: Mapping[str, str]) -> tuple[dict[str, str], Unscored]:
    """Cut each dialogue after the last line of the history, which the judge names (Appendix A)."""
    lines = {key: [line for line in dialogue.split("\n") if line.strip()] for key, dialogue in dialogues.items()}
    calls = [
        Call(
            f"{key}/truncate",
            render(_PACKAGE, "truncate", lines=listed),
            reply=EndOfHistory,
            context={"lines": len(listed)},
        )
        for key, listed in lines.items()
    ]
    found: dict[str, str] = {}
    unscored: Unscored = []
    for (key, listed), answer in zip(lines.items(), await ask(calls), strict=True):
        if isinstance(answer.value, EndOfHistory):
            found[key] = "\n".join(listed[: answer.value.last_line + 1])
        else:
            unscored.append(unscored_row(key, "truncate", answer.failure or "no line", answer.raw or answer.text))
    return found, unscored


async def _write_summaries(ask: Ask, dialogues: Mapping[str, str]) -> tuple[dict[str, str], Unscored]:
    """Ask the writer for a subjective summary of each truncated dialogue."""
    calls = [
        Call(
            f"{key}/subjective",
            render(_PACKAGE, "subjective", dialogue=dialogue),
            least_tokens=tokens_needed(dialogue, times=1),
        )
        for key, dialogue in dialogues.items()
    ]
    found: dict[str, str] = {}
    unscored: Unscored = []
    for key, answer in zip(dialogues, await ask(calls), strict=True):
        if answer.ok and answer.text is not None:
            found[key] = answer.text.strip()
        else:
            unscored.append(unscored_row(key, "subjective", answer.failure or "no text", answer.raw))
    return found, unscored


def overlap_with_omissions(
    scores: pd.DataFrame, summaries: pd.DataFrame, references: Mapping[str, str], params: Overlap
) -> pd.DataFrame:
    """Omission scores joined with overlap metrics of the summaries against references of their documents."""
    merged = scores.merge(summaries, on=["document", "system"]).reset_index(drop=True)
    overlap, _ = score_texts([references[name] for name in merged["document"]], merged["summary"].tolist(), params)
    return pd.concat([merged.drop(columns="summary"), overlap], axis=1)
