"""States what a note asserts of the symptom in each span: present, absent, possible, past, or another person's.

Absent, past and other person are the three contextual properties of ConText (Harkema et al. 2009: negated, historical,
experienced by someone else); possible is a class of the assertions of the 2010 i2b2/VA challenge (Uzuner et al. 2011).

One request a record shows both versions of its note with all of its phrases.
"""

from collections.abc import Mapping, Sequence
from typing import Literal

import pandas as pd
from pydantic import BaseModel, ConfigDict

from schemas.tables.records import SPANS
from tasks.llm.ask_all import Unscored, ask_all
from tasks.llm.calls import Ask, Call, Reply, unscored_row
from tasks.llm.prompts import render
from tasks.spans.statistics import ASSERTION_STEP
from tasks.statistics.metric_rows import metric_table, ratio_row
from tasks.text.sentences import sentence_spans

_SHOWN = {"normal": "full", "compact": "compact"}


class Asserted(BaseModel):
    """What the note asserts of one phrase's symptom."""

    model_config = ConfigDict(extra="forbid")

    number: int
    assertion: Literal["present", "absent", "possible", "past", "other person"]


class AssertionReply(Reply):
    """An assertion for every phrase that was asked about."""

    assertions: list[Asserted]


async def state_assertions(
    spans: pd.DataFrame, texts: Mapping[str, Mapping[int, str]], labels: Mapping[str, str], ask: Ask
) -> tuple[pd.DataFrame, Unscored]:
    """``spans`` (SPANS) with their assertions, null where the call failed, and unscored rows.

    ``texts``: the notes by version and record. ``labels``: the name in prompts by symptom.
    """
    of_record = {int(str(record)): list(own.itertuples()) for record, own in spans.groupby("record")}
    calls = {}
    for record, own in of_record.items():
        phrases = [
            {
                "version": _SHOWN[span.version],
                "symptom": labels[span.symptom],
                "text": span.text,
                "sentence": _sentence(texts[span.version][record], span.start),
            }
            for span in own
        ]
        note, compact = (texts[version].get(record, "") for version in _SHOWN)
        messages = render("tasks.spans", "assertion", note=note, compact=compact, phrases=phrases)
        calls[record] = Call(f"{record}/{ASSERTION_STEP}", messages, reply=AssertionReply)
    replies, failures = await ask_all(ask, calls, AssertionReply, ASSERTION_STEP)
    stated = {}
    for record, reply in replies.items():
        given = {one.number: one.assertion for one in reply.assertions}
        for number, span in enumerate(of_record[record], 1):
            if number in given:
                stated[span.Index] = given[number]
            else:
                what = f"{span.symptom}: {span.text}"
                failures.append(unscored_row(record, ASSERTION_STEP, "the reply passes the phrase over", what))
    column = pd.Series(stated, dtype="str").reindex(spans.index)
    return spans.assign(assertion=column)[list(SPANS.columns)], failures


def _sentence(note: str, place: int) -> str:
    """The sentence of ``note`` that holds the character ``place``, on one line."""
    bounds = next(((start, end) for start, end in sentence_spans(note) if start <= place < end), (0, len(note)))
    return " ".join(note[slice(*bounds)].split())


def add_record_values(spans: pd.DataFrame, records: pd.DataFrame, symptoms: Sequence[str]) -> pd.DataFrame:
    """``spans`` (SPANS) with each symptom's value in the record; ``records`` has a column of values a symptom."""
    values = records.set_index("record")[list(symptoms)].to_dict("index")
    held = [values[record][symptom] for record, symptom in zip(spans["record"], spans["symptom"], strict=True)]
    return spans.assign(record_value=pd.Series(held, index=spans.index, dtype="str"))


def assertion_statistics(
    spans: pd.DataFrame, absent_value: Mapping[str, str], *, seed: int, provenance: str
) -> pd.DataFrame:
    """METRICS of each version: the share of spans with each assertion, and that of spans that agree with the record.

    ``absent_value``: the value by which a record says that it has not the symptom, by symptom. A span agrees if it
    asserts ``present`` and the record has the symptom, or ``absent`` and it has not; other assertions agree with no
    record. The spans of a note are one cluster. Spans without an assertion are left out and counted as unscored.
    """
    tables = []
    for version, every in spans.groupby("version", sort=True):
        part = every[every["assertion"].notna()]
        named = part["assertion"].where(part["assertion"].isin(("present", "absent")), "other")
        lacks = part["record_value"] == part["symptom"].map(dict(absent_value))
        agrees = named == lacks.map({True: "absent", False: "present"})
        shares = {f"share_{name}": named == name for name in ("present", "absent", "other")}
        rows = []
        for metric, flags in {**shares, "agrees": agrees}.items():  # ratios of sums over notes
            by_note = flags.groupby(part["record"], sort=True).agg(["sum", "size"]).astype(float)
            rows.append(ratio_row(metric, by_note["sum"].to_numpy(), by_note["size"].to_numpy()))
        about = {"stage": "span", "system": "assertions", "condition": version, "item": "all"}
        unscored = len(every) - len(part)
        tables.append(metric_table(rows, **about, unscored=unscored, seed=seed, provenance=provenance))
    return pd.concat(tables, ignore_index=True) if tables else metric_table([])
