"""MED-OMIT on ACI-BENCH: truncated dialogues, subjective summaries of several systems, as in its Table 3."""

import json
from collections.abc import Mapping

import pandas as pd

from schemas.params.med_omit import MedOmit
from schemas.params.overlap import Overlap
from tasks.evaluation.med_omit.note_work import Unscored, judge_omissions
from tasks.evaluation.med_omit.summaries import truncate_dialogues, write_summaries
from tasks.evaluation.overlap.tables import score_texts
from tasks.llm.calls import Ask
from tasks.text.soap import split_soap

WRITER = "writer"


def summaries_table(encounters: pd.DataFrame, outputs: Mapping[str, Mapping[str, str]]) -> pd.DataFrame:
    """One row an encounter: dialogue, and the subjective part of each system's note as JSON."""
    rows = [
        (
            row.encounter,
            row.dialogue,
            json.dumps(
                {
                    system: split_soap(texts[row.encounter]).get("subjective", "")
                    for system, texts in outputs.items()
                    if row.encounter in texts
                }
            ),
        )
        for row in encounters.itertuples()
    ]
    return pd.DataFrame(rows, columns=["encounter", "dialogue", "summaries"])


async def judge_dialogues(
    writer: Ask, judge: Ask, table: pd.DataFrame, params: MedOmit
) -> tuple[dict[str, pd.DataFrame], Unscored]:
    """Tables facts, omitted, differences and summaries, and unscored rows; the writer's summary is one system more."""
    dialogues = dict(zip(table["encounter"], table["dialogue"], strict=True))
    truncated, untruncated = await truncate_dialogues(judge, dialogues)
    written, unwritten = await write_summaries(writer, truncated)
    summaries: dict[str, dict[str, str]] = {WRITER: written}
    for encounter, text in zip(table["encounter"], table["summaries"], strict=True):
        if encounter in truncated:
            for system, summary in json.loads(text).items():
                summaries.setdefault(system, {})[encounter] = summary
    facts, omitted, differences, unscored = await judge_omissions(judge, truncated, summaries, params)
    rows = [(key, system, text) for system, texts in summaries.items() for key, text in texts.items()]
    shown = pd.DataFrame(rows, columns=["document", "system", "summary"]).astype("str")
    tables = {"facts": facts, "omitted": omitted, "differences": differences, "summaries": shown}
    return tables, [*untruncated, *unwritten, *unscored]


def overlap_with_omissions(
    scores: pd.DataFrame, summaries: pd.DataFrame, encounters: pd.DataFrame, params: Overlap
) -> pd.DataFrame:
    """Omission scores with overlap metrics of the same summaries against the reference's subjective part."""
    references = {row.encounter: split_soap(row.note).get("subjective", "") for row in encounters.itertuples()}
    merged = scores.merge(summaries, on=["document", "system"]).reset_index(drop=True)
    overlap, _ = score_texts([references[name] for name in merged["document"]], merged["summary"].tolist(), params)
    return pd.concat([merged.drop(columns="summary"), overlap], axis=1)
