"""The documents of an evaluation with their verdicts, as data for the page's script."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from tasks.reporting.alignment import align, segments

Verdict = int | None
IMPORTANCE = ("critical", "important", "other")


@dataclass(frozen=True)
class ShownDocument:
    """One document on the page; ``units`` are the numbered parts of its source."""

    id: str
    units: Sequence[str]
    reference: str | None
    outputs: Mapping[str, str]


def document_data(
    document: ShownDocument,
    systems: Sequence[str],
    citing: Collection[str],
    claims: pd.DataFrame,
    facts: pd.DataFrame,
    answers: pd.DataFrame,
) -> dict[str, Any]:
    """Texts in segments, claims with verdict and segment, facts with their omissions, and answered questions.

    ``claims``, ``facts`` and ``answers`` are the document's rows of CLAIMS, OMITTED_FACTS and ANSWERED.
    """
    reference = segments(document.reference or "")
    by_system = {str(system): rows for system, rows in claims.groupby("system", sort=False)}
    outputs = {
        number: _output(document.outputs[system], by_system.get(system, claims.iloc[:0]), reference, system in citing)
        for number, system in enumerate(systems)
        if system in document.outputs
    }
    return {
        "id": document.id,
        "source": list(document.units),
        "reference": _plain(reference) if document.reference else None,
        "outputs": outputs,
        "facts": _facts(facts, systems),
        "questions": _questions(answers, systems),
    }


def _questions(rows: pd.DataFrame, systems: Sequence[str]) -> list[dict[str, Any]]:
    """Each question with the right answer, and for each system [answer, verdict, share of takes that accept it].

    The answer from the source has the number -1.
    """
    numbers = {system: number for number, system in enumerate(systems)}
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for row in rows.to_dict("records"):
        asked = {"text": row["wording"], "right": row["right"], "form": row["form"].replace("_", " "), "answers": {}}
        question = found.setdefault((row["question"], row["form"]), asked)
        answer = None if pd.isna(row["answer"]) else row["answer"]
        score = None if pd.isna(row["score"]) else round(float(row["score"]), 2)
        verdict = None if score is None else int(score > 0.5)
        question["answers"][numbers.get(row["system"], -1)] = [answer, verdict, score]
    return list(found.values())


def _plain(parts: Sequence[tuple[str, bool]]) -> list[list[Any]]:
    return [[text, int(is_sentence)] for text, is_sentence in parts]


def _output(text: str, rows: pd.DataFrame, reference: Sequence[tuple[str, bool]], cites: bool) -> dict[str, Any]:
    parts = segments(text)
    own, recalled = (rows[rows["metric"] == name] for name in ("claim_precision", "claim_recall"))
    data = {"text": _plain(parts), "own": _claims(own, parts), "recalled": _claims(recalled, reference)}
    if cites:
        statements = rows[rows["metric"] == "citation_recall"]
        marks = rows[rows["metric"] == "citation_precision"]
        data["statements"] = _claims(statements, parts)
        data["marks"] = _marks(marks, parts)
    return data


def _claims(rows: pd.DataFrame, parts: Sequence[tuple[str, bool]]) -> list[list[Any]]:
    """[text, verdict (1, 0 or null), segment or null, section, reason or null] of each claim, in order of the text."""
    texts = rows["text"].tolist()
    found = [
        [text, _verdict(judged), at, item, None if pd.isna(reason) else reason]
        for text, judged, at, item, reason in zip(
            texts, rows["judged"], align(texts, parts), rows["item"], rows["reason"], strict=True
        )
    ]
    return sorted(found, key=lambda claim: len(parts) if claim[2] is None else claim[2])


def _marks(rows: pd.DataFrame, parts: Sequence[tuple[str, bool]]) -> list[list[Any]]:
    """[segment or null, cited number, verdict] of each citation."""
    split = [str(text).rpartition(" [") for text in rows["text"]]
    places = align([statement for statement, _, _ in split], parts)
    return [
        [at, int(number.rstrip("]")), _verdict(judged)]
        for at, (_, _, number), judged in zip(places, split, rows["judged"], strict=True)
    ]


def _verdict(judged: Any) -> Verdict:
    return None if pd.isna(judged) else int(judged)


def _facts(rows: pd.DataFrame, systems: Sequence[str]) -> list[dict[str, Any]]:
    """Facts, the most important first: text, category, weight, and whether each system omits them."""
    numbers = {system: number for number, system in enumerate(systems)}
    found: dict[str, dict[str, Any]] = {}
    for row in rows.to_dict("records"):
        fact = found.setdefault(
            row["fact"],
            {
                "text": row["text"],
                "category": None if pd.isna(row["category"]) else row["category"],
                "weight": None if pd.isna(row["score"]) else round(float(row["score"]), 3),
                "supports": row["supports"],
                "refutes": row["refutes"],
                "omitted": {},
            },
        )
        fact["omitted"][numbers[row["system"]]] = _verdict(row["omitted"])
    order = {name: place for place, name in enumerate(IMPORTANCE)}
    return sorted(found.values(), key=lambda fact: (order.get(fact["category"], len(order)), -(fact["weight"] or 0)))
