"""The form in which experts compare two outputs of a section whose metrics disagree (DocLens, Section 4.3)."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pandas as pd

from schemas.tables.columns import typed
from schemas.tables.people import PREFERENCE_PAIRS
from tasks.people.choice_form import ChoiceForm, Question, Shown
from tasks.people.forms import Returned
from tasks.texts.document import Document, compared_sections

STREAM, EACH = 88, 20
SIDES = ("first", "second")


METRICS = ("claim_recall", "rougeL_r")


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
    drawn = (
        [part.iloc[np.sort(rng.permutation(len(part))[:EACH])] for _, part in pairs.groupby("item")] if found else []
    )
    return pd.concat(drawn, ignore_index=True) if drawn else pairs


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
    return PreferenceForm(help_, [_shown(row) for row in pairs.to_dict("records")])


def _shown(row: Mapping[str, object]) -> Shown:
    claims = [
        Question(f"{side} {at}", f"{side} output: {claim}", ("yes", "no"))
        for at, claim in enumerate(json.loads(str(row["claims"])))
        for side in SIDES
    ]
    texts = (
        ("Reference", row["reference"]),
        ("First output", row["text_first"]),
        ("Second output", row["text_second"]),
    )
    sheets = tuple((head, str(text)) for head, text in texts)
    return Shown(str(row["pair"]), sheets, (*claims, Question("preferred", "Which is more complete?", SIDES)))


RETURNED = (
    Returned(
        PreferenceForm.format,
        "doclens_published",
        "preferences_returned",
        lambda load, _: preference_form(load("preference_pairs")),
        outside=True,
    ),
)
