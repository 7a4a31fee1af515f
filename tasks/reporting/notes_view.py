"""The texts that the report shows: notes in segments with their spans, patients over time, and judged claims.

Of a patient: visits beside a summary, facts by what became of them, statements by verdict. Of an outside document: each
claim with the recorded model's verdict and reason.
"""

import json
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pandas as pd

from schemas.tables.verdicts import by_number
from tasks.measures.doclens.published import RULES_JUDGE
from tasks.reporting.display import words

FLAGGED = "flagged by the consistency check, or the check failed"
"""Mark of a note that was kept nevertheless."""


def choose_records(prompts: pd.DataFrame, count: int) -> list[int]:
    """Up to ``count`` record ids, systematically sampled so that each prompt kind has its share."""
    ordered = prompts.sort_values(["kind", "record"])["record"]
    step = max(len(ordered) / count, 1) if count else 1
    return sorted(int(ordered.iloc[int(place * step)]) for place in range(min(count, len(ordered))))


Segment = tuple[str, list[tuple[str, str]]]
"""A text, and symptom and assertion of each span that it belongs to; the assertion is empty where none is stated."""


def segments(note: str, spans: pd.DataFrame) -> list[Segment]:
    """Split ``note`` at span boundaries; overlapping spans give a segment several symptoms."""
    said = spans["assertion"].fillna("")
    marks = list(zip(spans["start"], spans["end"], spans["symptom"], said, strict=True))
    edges = sorted({0, len(note), *(place for start, end, *_ in marks for place in (start, end))})
    return [
        (note[start:end], sorted({(name, what) for first, last, name, what in marks if first <= start and last >= end}))
        for start, end in pairwise(edges)
    ]


def notes_view(
    records: pd.DataFrame,
    prompts: pd.DataFrame,
    attempts: pd.DataFrame,
    notes: pd.DataFrame,
    compact: pd.DataFrame,
    spans: pd.DataFrame,
    count: int,
) -> list[dict[str, Any]]:
    """Contents of the note browser for each chosen record. Text is not escaped here; the page escapes it."""
    of_record, prompt, note, short = (frame.set_index("record") for frame in (records, prompts, notes, compact))

    def version(texts: pd.Series, record: int, name: str) -> list[Segment]:
        own = spans[(spans["record"] == record) & (spans["version"] == name)]
        return segments(str(texts.at[record]), own) if record in texts.index else []

    found = []
    for record in (one for one in choose_records(prompts, count) if one in note.index):
        kept = int(note.at[record, "attempt"])
        earlier = attempts[(attempts["record"] == record) & (attempts["attempt"] < kept)].sort_values("attempt")
        tried = earlier[["note", "explanation"]].fillna({"explanation": ""}).to_dict("records")
        found.append(
            {
                "record": record,
                "kind": prompt.at[record, "kind"],
                "facts": {name: str(value) for name, value in of_record.loc[record].items()},
                "prompt": prompt.at[record, "single_prompt"],
                "descriptors": json.loads(str(prompt.at[record, "descriptors"])),
                "mark": "" if note.at[record, "consistent"] else FLAGGED,
                "normal": version(note["note"], record, "normal"),
                "compact": version(short["compact"], record, "compact"),
                "attempts": tried,
            }
        )
    return found


FATES = {"whole": "kept", "part": "part", "none": "lost"}
"""What became of a fact of the record, by the judge's word; none where the judgement failed."""
VERDICTS = {"supported": "right", "contradicted": "wrong", "absent": "unfounded"}
"""What a statement of a summary is, by its verdict against the record."""
SAID = {"right": "right", "wrong": "wrong", "unfounded": "not found", "unscored": "unscored"}
"""The same in words."""


def history_view(
    notes: pd.DataFrame,
    facts: pd.DataFrame,
    summaries: pd.DataFrame,
    stated: pd.DataFrame,
    checked: pd.DataFrame,
    *,
    patients: int,
) -> list[dict[str, Any]]:
    """The ``patients`` judged patients with the most facts lost: visits, and summaries with facts and statements.

    ``notes``: VISIT_NOTES. ``stated`` (VERDICTS): whether summaries state each fact. ``checked`` (VERDICTS): their
    statements, in order. Summaries are those of the tables' systems that ``summaries`` has.
    """  # fmt: skip
    recall = stated[stated["metric"] == "claim_recall"]
    order = recall[recall["value"] == 0].groupby("document").size()
    order = order.sort_values(ascending=False, kind="stable")  # ties in the same order on every machine
    shown = []
    for document in [*order.index, *sorted(set(recall["document"]) - set(order.index))][:patients]:
        patient = int(document)
        own = notes[notes["patient"] == patient].sort_values("visit")
        claims = facts[facts["patient"] == patient]["claim"].tolist()
        texts = summaries[summaries["patient"] == patient].sort_values(["system", "purpose", "words"])
        shown.append(
            {
                "patient": patient,
                "visits": [
                    {"title": title, "mark": "" if passed else FLAGGED, "text": body.replace("**", "")}
                    for passed, text in zip(own["consistent"], own["text"], strict=True)
                    for title, _, body in [text.partition("\n\n")]
                ],
                "summaries": [_summary(row, document, claims, recall, checked) for row in texts.to_dict("records")],
            }
        )
    return shown


def _summary(
    row: dict[Any, Any], document: str, claims: Sequence[str], recall: pd.DataFrame, checked: pd.DataFrame
) -> dict[str, Any]:
    name = f"{row['system']}, {row['purpose']}, {row['words']} words"
    found = recall[(recall["document"] == document) & (recall["system"] == name)].set_index("unit")["verdict"]
    fates = [FATES.get(str(found.get(str(at))), "unscored") for at in range(len(claims))]
    said = checked[(checked["document"] == document) & (checked["system"] == name)]
    verdicts = [
        (text, VERDICTS.get(str(verdict), "unscored"))
        for text, verdict in zip(said["text"], said["verdict"], strict=True)
        if text
    ]
    kinds = [kind for _, kind in verdicts]
    return {
        "name": name,
        "length": row["length"],
        "text": row["text"],
        "facts": list(zip(claims, fates, strict=True)),
        "statements": verdicts,
        "counts": {
            "facts": {fate: fates.count(fate) for fate in (*FATES.values(), "unscored")},
            "statements": {name: kinds.count(kind) for kind, name in SAID.items()},
        },
    }


def untrusted_metrics(table: pd.DataFrame) -> list[str]:
    """Metrics not shown to follow the truth of damaged summaries, each with the damage and the number of patients."""
    failing = table[(table["metric"] == "follows_truth") & (table["value"] == 0)]
    return [f"{words(row.item)} (facts {row.condition}, n = {row.n})" for row in failing.itertuples()]


def claims_view(claims: pd.DataFrame) -> dict[str, dict[str, list[dict[str, Any]]]]:
    """Claims of VERDICTS by document and system, as judged by the recorded model and by the rules.

    A verdict is true, false, or none where the judgement failed or there is none.
    """
    unit, rules = ["document", "system", "metric", "item", "unit"], claims["judge"].eq(RULES_JUDGE)
    own, other = claims[~rules], claims.loc[rules, [*unit, "value"]]
    shown = own.merge(other, on=unit, how="left", suffixes=("", "_rules")).sort_values(unit, key=by_number)
    verdicts = {
        name: [None if pd.isna(one) else bool(one) for one in shown[of]]
        for name, of in (("judged", "value"), ("judged_rules", "value_rules"))
    }
    rows = shown[["document", "system", "metric", "item", "text", "reason"]].fillna("").assign(**verdicts)
    found: dict[str, dict[str, list[dict[str, Any]]]] = {}
    for row in rows.astype(object).to_dict("records"):
        found.setdefault(row.pop("document"), {}).setdefault(row.pop("system"), []).append(row)
    return found
