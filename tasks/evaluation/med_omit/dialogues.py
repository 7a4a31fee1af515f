"""MED-OMIT on ACI-BENCH (Table 3): dialogues truncated to the history, subjective summaries of several systems."""

import json
from collections.abc import Mapping

import pandas as pd
from pydantic import ValidationInfo, field_validator

from schemas.params.med_omit import MedOmit
from schemas.params.overlap import Overlap
from tasks.evaluation.med_omit.diagnosis_names import Encode
from tasks.evaluation.med_omit.judging import Unscored, judge_omissions
from tasks.evaluation.overlap.tables import score_texts
from tasks.llm.calls import Ask, Call, Reply
from tasks.llm.prompts import render
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


def summaries_table(encounters: pd.DataFrame, outputs: Mapping[str, Mapping[str, str]]) -> pd.DataFrame:
    """One row per encounter: dialogue, and the subjective section of each system's note as JSON."""
    rows = []
    for row in encounters.itertuples():
        subjective = {
            system: split_soap(texts[row.encounter]).get("subjective", "")
            for system, texts in outputs.items()
            if row.encounter in texts
        }
        rows.append((row.encounter, row.dialogue, json.dumps(subjective)))
    return pd.DataFrame(rows, columns=["encounter", "dialogue", "summaries"])


async def judge_dialogues(
    writer: Ask, judge: Ask, table: pd.DataFrame, params: MedOmit, encode: Encode
) -> tuple[dict[str, pd.DataFrame], Unscored]:
    """Tables facts, omitted, differences and summaries, and the unscored rows.

    The writer's own summaries are judged as one more system.
    """
    dialogues = dict(zip(table["encounter"], table["dialogue"], strict=True))
    truncated, untruncated = await _truncate_dialogues(judge, dialogues)
    written, unwritten = await _write_summaries(writer, truncated)
    summaries: dict[str, dict[str, str]] = {WRITER: written}
    for encounter, text in zip(table["encounter"], table["summaries"], strict=True):
        if encounter in truncated:
            for system, summary in json.loads(text).items():
                summaries.setdefault(system, {})[encounter] = summary
    facts, omitted, differences, unscored = await judge_omissions(judge, truncated, summaries, params, encode)
    rows = [(key, system, text) for system, texts in summaries.items() for key, text in texts.items()]
    shown = pd.DataFrame(rows, columns=["document", "system", "summary"]).astype("str")
    tables = {"facts": facts, "omitted": omitted, "differences": differences, "summaries": shown}
    return tables, [*untruncated, *unwritten, *unscored]


async def _truncate_dialogues(ask: Ask, dialogues: Mapping[str, str]) -> tuple[dict[str, str], Unscored]:
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
        Call(f"{key}/subjective", render(_PACKAGE, "subjective", dialogue=dialogue))
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
    scores: pd.DataFrame, summaries: pd.DataFrame, encounters: pd.DataFrame, params: Overlap
) -> pd.DataFrame:
    """Omission scores joined with overlap metrics of the summaries against the reference's subjective section."""
    references = {row.encounter: split_soap(row.note).get("subjective", "") for row in encounters.itertuples()}
    merged = scores.merge(summaries, on=["document", "system"]).reset_index(drop=True)
    overlap, _ = score_texts([references[name] for name in merged["document"]], merged["summary"].tolist(), params)
    return pd.concat([merged.drop(columns="summary"), overlap], axis=1)
