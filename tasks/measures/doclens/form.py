"""The form in which experts compare two outputs whose metrics disagree, and what it tells (DocLens, Section 4.3)."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from schemas.tables.columns import typed
from schemas.tables.people import PREFERENCE_PAIRS
from tasks.people.forms import ChoiceForm, Question, Returned, Shown
from tasks.statistics.agreement import Correlation, correlation, correlation_interval
from tasks.statistics.metric_rows import Row, mean_row, metric_row
from tasks.texts.document import Document, compared_sections

STREAM, EACH = 88, 20
SIDES = ("first", "second")
METRICS = ("claim_recall", "rougeL_r")
RANKED: tuple[Correlation, ...] = ("spearman", "kendall")


def disputed_pairs(recalls: pd.DataFrame, *, seed: int) -> pd.DataFrame:
    """Up to `EACH` pairs of outputs of each section that `METRICS` rank in opposite order, in a drawn order.

    ``recalls``: document, item and system with the metrics. Columns: document, item, and for each side its system and
    metrics (``claim_recall_first``).
    """
    rng, found = np.random.default_rng([seed, STREAM]), []
    for _, group in recalls.groupby(["item", "document"], sort=True):
        rows = group.sort_values("system").to_dict("records")
        for pair in combinations(rows, 2):
            if np.prod([np.sign(pair[0][name] - pair[1][name]) for name in METRICS]) < 0:
                sides = dict(zip(SIDES, (pair[at] for at in rng.permutation(2)), strict=True))
                values = {f"{name}_{side}": sides[side][name] for side in SIDES for name in ("system", *METRICS)}
                found.append({"document": pair[0]["document"], "item": pair[0]["item"], **values})
    pairs = pd.DataFrame(found)
    if not found:
        return pairs
    drawn = [part.iloc[np.sort(rng.permutation(len(part))[:EACH])] for _, part in pairs.groupby("item")]
    return pd.concat(drawn, ignore_index=True)


def shown_pairs(pairs: pd.DataFrame, judged: pd.DataFrame, documents: Sequence[Document]) -> pd.DataFrame:
    """`disputed_pairs` with the texts that the form shows (PREFERENCE_PAIRS). ``judged``: verdicts on claims."""
    recalled, by_id = judged[judged["metric"] == "claim_recall"], {one.id: one for one in documents}
    claims = recalled.drop_duplicates(["document", "item", "unit"]).groupby(["document", "item"])["text"].agg(list)
    rows = []
    for at, row in enumerate(pairs.to_dict("records")):
        document, section = by_id[row["document"]], row["item"]
        both = {
            side: compared_sections(document, document.outputs[row[f"system_{side}"]], "soap")[section]
            for side in SIDES
        }
        texts = {f"text_{side}": output for side, (_, output) in both.items()} | {"reference": both["first"][0]}
        rows.append({**row, **texts, "pair": str(at), "claims": json.dumps(claims[row["document"], section])})
    return typed(rows, PREFERENCE_PAIRS)


@dataclass(frozen=True, eq=False)
class PreferenceForm(ChoiceForm):
    """The form of `disputed_pairs` with their texts; which system wrote an output is not shown."""

    format, kind, noun, title = "vignette-preferences", "preference", "pair", "Comparing two outputs"


def preference_form(pairs: pd.DataFrame) -> PreferenceForm:
    """``pairs`` (PREFERENCE_PAIRS): the outputs, the reference and its claims, in JSON."""
    help_ = (
        "Say of each claim of the reference whether each output fully contains it.",
        "Then say which output has more of what matters in the reference.",
    )
    heads = {"Reference": "reference", "First output": "text_first", "Second output": "text_second"}
    preferred, items = Question("preferred", "Which is more complete?", SIDES), []
    for row in pairs.to_dict("records"):
        claims = [
            Question(f"{side} {at}", f"{side} output: {claim}", ("yes", "no"))
            for at, claim in enumerate(json.loads(row["claims"]))
            for side in SIDES
        ]
        sheets = tuple((head, row[name]) for head, name in heads.items())
        items.append(Shown(row["pair"], sheets, (*claims, preferred)))
    return PreferenceForm(help_, items)


def preference_rows(pairs: pd.DataFrame, chosen: pd.DataFrame, **shared: Any) -> list[Row]:
    """Agreement of `METRICS` with experts on the pairs, and of one expert with the mean of the others, by section.

    Spearman and Kendall with the share of claims that the experts find in an output (Table 2), the share of their
    preferences that a metric has (Figure 7), and the experts among themselves (Table 12).
    """
    rows, values = list[Row](), pairs.set_index("pair")
    told = chosen.merge(pairs, left_on="record", right_on="pair")
    claims = told[told["question"] != "preferred"]
    claims = claims.assign(side=claims["question"].str.split().str[0], found=claims["answer"].eq("yes").astype(float))
    for section, part in claims.groupby("item"):
        about: dict[str, Any] = {"condition": f"preferences of experts, {section}", **shared}
        by_rater = part.groupby(["record", "side", "rater"])["found"].mean().unstack()
        people, records = by_rater.mean(axis=1), by_rater.index.get_level_values("record")
        preferred = told[(told["item"] == section) & (told["question"] == "preferred")]
        for name in METRICS:
            scores = [values.loc[record, f"{name}_{side}"] for record, side in people.index]
            for kind in RANKED:
                found = correlation_interval(scores, people, kind, clusters=records)
                rows.append(metric_row(kind, *found, n=len(people), item=name, **about))
            same = preferred["answer"].eq(np.where(preferred[f"{name}_first"] > preferred[f"{name}_second"], *SIDES))
            rows.append(mean_row("preference_agreement", same, clusters=preferred["record"], item=name, **about))
        for kind in RANKED if by_rater.shape[1] > 1 else ():
            of = [(by_rater[one], by_rater.drop(columns=one).mean(axis=1)) for one in by_rater]
            mean = float(np.mean([correlation(one.to_numpy(), rest.to_numpy(), kind) for one, rest in of]))
            rows.append(metric_row(f"{kind}_among_people", mean, n=len(by_rater), item="experts", **about))
    return rows


RETURNED = Returned(
    PreferenceForm.format,
    "doclens_published",
    "preferences_returned",
    lambda load, _: preference_form(load("preference_pairs")),
    outside=True,
)
