"""Sheets on which people label the judge's verdicts, to be read with ``vignette judges --labels FILE``."""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from flows.evaluation.work import Evaluation
from schemas.errors import SourceError
from tasks.evaluation.documents.model import Document

LABELLED = ("claim_recall", "claim_precision")
STREAM = 92


def label_files(evaluation: Evaluation, *, seed: int) -> dict[str, bytes]:
    """A CSV file for each system and direction, by name: all judged claims in random order, with an empty label.

    Labels of the first rows are then labels of a random sample, as prediction-powered inference requires. The column
    cluster is the document, text what the claim was compared with. Raises SourceError where DocLens was not chosen.
    """
    if "claims" not in evaluation.tables:
        raise SourceError("sheets for labels list the claims of DocLens; add doclens to --metrics")
    claims = evaluation.table("claims").dropna(subset=["judged"])
    files = {}
    for number, system in enumerate(evaluation.systems, 1):
        for metric in LABELLED:
            mine = claims[(claims["system"] == system) & (claims["metric"] == metric)]
            if len(mine):
                texts = {one.id: _compared(one, metric, system) for one in evaluation.documents}
                files[f"labels/{metric}_{number}.csv"] = _sheet(mine, texts, [seed, STREAM, number]).encode()
    return files


def _compared(document: Document, metric: str, system: str) -> str:
    """The text that the document's claims are judged against: the output for recall, the reference for precision."""
    text = document.outputs.get(system) if metric == "claim_recall" else document.reference
    return text or ""


def _sheet(claims: pd.DataFrame, texts: Mapping[str, str], seed: list[int]) -> str:
    shuffled = claims.iloc[np.random.default_rng(seed).permutation(len(claims))]
    item = shuffled["document"] + "/" + shuffled["item"] + "/" + shuffled["position"].astype(str)
    columns = {"item": item, "judged": shuffled["judged"].astype(int), "label": "", "cluster": shuffled["document"]}
    shown = {"claim": shuffled["text"].map(_cell), "text": shuffled["document"].map(texts).map(_cell)}
    return pd.DataFrame({**columns, **shown}).to_csv(index=False, lineterminator="\n")


def _cell(text: str) -> str:
    """The text as a spreadsheet shows it: one that begins as a formula does is marked as text."""
    return f"'{text}" if text.startswith(("=", "+", "-", "@")) else text
