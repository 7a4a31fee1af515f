"""Sheets on which people label the judge's verdicts, to be read with ``vignette judges --labels FILE``."""

import numpy as np
import pandas as pd

from flows.evaluation.work import Evaluation
from schemas.errors import SourceError

LABELLED = ("claim_recall", "claim_precision")
STREAM = 92


def label_files(evaluation: Evaluation, *, seed: int) -> dict[str, bytes]:
    """A CSV file for each system and direction, by name: all judged claims in random order, with an empty label.

    Labels of the first rows are then labels of a random sample, as prediction-powered inference requires. The column
    cluster is the document. Raises SourceError where DocLens was not chosen.
    """
    if "claims" not in evaluation.tables:
        raise SourceError("sheets for labels list the claims of DocLens; add doclens to --metrics")
    claims = evaluation.table("claims").dropna(subset=["judged"])
    files = {}
    for number, system in enumerate(evaluation.systems, 1):
        for metric in LABELLED:
            mine = claims[(claims["system"] == system) & (claims["metric"] == metric)]
            if len(mine):
                files[f"labels/{metric}_{number}.csv"] = _sheet(mine, [seed, STREAM, number]).encode()
    return files


def _sheet(claims: pd.DataFrame, seed: list[int]) -> str:
    shuffled = claims.iloc[np.random.default_rng(seed).permutation(len(claims))]
    item = shuffled["document"] + "/" + shuffled["item"] + "/" + shuffled["position"].astype(str)
    columns = {"item": item, "judged": shuffled["judged"].astype(int), "label": "", "cluster": shuffled["document"]}
    return pd.DataFrame({**columns, "claim": shuffled["text"]}).to_csv(index=False, lineterminator="\n")
