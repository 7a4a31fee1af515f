"""MTS-Dialog's correlation study (Ben Abacha, Yim, Fan and Lin, EACL 2023) in the folder of outside data.

100 dialogues of the validation set with a reference summary, the summaries of four models, and people's scores of each.
"""

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from schemas.errors import SourceError
from tasks.texts.document import Document
from tasks.texts.files import read_rows

SUMMARIES, SCORES = "mts_dialog/automatic_summaries.csv", "mts_dialog/manual_scores.csv"
CLAIMS, GROUNDING = "mts_dialog/strong_model_claims_20.csv", "mts_dialog/strong_model_grounding_20.csv"
FILES = (SUMMARIES, SCORES, CLAIMS, GROUNDING)
HUMAN = ("FactualRecall", "OmissionRate", "FactualPrecision", "HallucinationRate", "FactualF1")
"""People's scores, shares of facts: higher is better, but for the rates."""
_TEXTS = ("ID", "Dialogue", "Reference Summary", "Automatic Summary")


def read_study(folder: Path) -> tuple[list[Document], pd.DataFrame]:
    """The documents with their outputs ``model 1`` to ``model 4``, and people's scores by document and system.

    Both files list the models one after the other. Raises SourceError where they do not fit together.
    """
    texts, scores = _rows(folder / SUMMARIES, _TEXTS), _rows(folder / SCORES, HUMAN)
    if len(texts) != len(scores):
        raise SourceError(
            f"{folder / SCORES}: {len(scores)} rows, but {SUMMARIES} has {len(texts)}; expected one for each"
        )
    number = texts.groupby("ID").cumcount() + 1
    keys = pd.DataFrame({"document": texts["ID"].astype(str), "system": "model " + number.astype(str)})
    for _, model in texts.groupby(number):
        if model["ID"].tolist() != texts["ID"][number == 1].tolist():
            raise SourceError(f"{folder / SUMMARIES}: expected the summaries of the same documents for each model")
    documents = [
        Document(
            str(name),
            (rows["Dialogue"].iloc[0],),
            rows["Reference Summary"].iloc[0],
            outputs=dict(zip(keys["system"][rows.index], rows["Automatic Summary"], strict=True)),
            dialogue=True,
        )
        for name, rows in texts.groupby("ID", sort=False)
    ]
    return documents, keys.join(scores[list(HUMAN)].astype(float))


def read_verdicts(folder: Path) -> pd.DataFrame:
    """A strong model's judgements of some of the summaries: document, system, metric, text and judged (nullable).

    Metrics: claim_recall, claim_precision; and supported and contradicted, of the claims of the outputs against the
    dialogue. Empty where the files are absent.
    """
    if not (folder / CLAIMS).is_file():
        return pd.DataFrame(columns=["document", "system", "metric", "text", "judged"])
    claims = _rows(folder / CLAIMS, ("document", "system", "metric", "text", "judged")).astype({"document": str})
    claims["judged"] = claims["judged"].map({True: 1.0, False: 0.0, "True": 1.0, "False": 0.0})
    parts = [claims[["document", "system", "metric", "text", "judged"]]]
    if (folder / GROUNDING).is_file():
        grounded = _rows(folder / GROUNDING, ("document", "claim", "kind")).astype({"document": str})
        kinds = grounded.drop_duplicates(["document", "claim"]).rename(columns={"claim": "text"})
        own = claims[claims["metric"] == "claim_precision"].drop(columns="judged").merge(kinds, on=["document", "text"])
        for kind in ("supported", "contradicted"):
            parts.append(own.assign(metric=kind, judged=own["kind"].eq(kind).astype(float))[list(parts[0].columns)])
    return pd.concat(parts, ignore_index=True)


def _rows(file: Path, columns: Sequence[str]) -> pd.DataFrame:
    rows = pd.DataFrame([dict(row.values) for row in read_rows(file).rows])
    if missing := [name for name in columns if name not in rows]:
        raise SourceError(f"{file}: no column {', '.join(missing)}; found {', '.join(rows)}")
    return rows
