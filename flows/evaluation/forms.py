"""Forms in which clinicians check a measure's verdicts on each system, and their agreement with the judge.

Sheets on which people label the judge's verdicts, to be read with ``vignette agreement FILE``.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from flows.evaluation.work import Evaluation
from flows.runtime.folders import defused
from flows.runtime.tables import table_bytes
from schemas.errors import SourceError, did_you_mean
from schemas.params import Params
from tasks.measures.declared import Forms
from tasks.measures.described import OF_OUTPUTS, chosen
from tasks.measures.forms import EVALUATED
from tasks.people.forms import read_returned
from tasks.texts.document import Document


def form_files(evaluation: Evaluation, params: Params) -> dict[str, bytes]:
    """The forms of the chosen measures for each system, by file name."""
    systems, files = {name: number for number, name in enumerate(evaluation.systems, 1)}, dict[str, bytes]()
    for forms in forms_of(evaluation.plan.metrics):
        pages = forms.pages(evaluation.documents, evaluation.tables, evaluation.plan, params)
        files |= {f"forms/{forms.name}_{systems[system]}.html": html.encode() for system, html in pages.items()}
    return files


def forms_of(metrics: Sequence[str] | None) -> list[Forms]:
    """The forms of the chosen measures of an evaluation; None: those chosen by default."""
    return [EVALUATED[one.name] for one in chosen(metrics) if one.name in EVALUATED]


def with_forms() -> list[str]:
    """The measures that have forms, as they are chosen."""
    return [one.choice for one in OF_OUTPUTS if one.name in EVALUATED]


def require_systems(returned: Sequence[tuple[str, Path]], systems: Sequence[str]) -> None:
    """Raise SourceError for a returned form of a system that is not evaluated."""
    for system, path in returned:
        if system not in systems:
            known = ", ".join(systems) + did_you_mean(system, systems)
            raise SourceError(f"--returned {system}={path}: no such system; expected {known}")


def clinicians_agreement(evaluation: Evaluation, returned: Sequence[tuple[str, Path]], params: Params) -> pd.DataFrame:
    """METRICS of the agreement of clinicians with the judge and with each other, by system.

    ``returned``: system and file of each returned form. Raises SourceError for another form.
    """
    files: dict[str, dict[str, str]] = {}
    for system, path in returned:
        files.setdefault(system, {})[str(path)] = read_returned(path)
    rows = [
        forms.agreement(system, texts, evaluation.tables, params)
        for forms in forms_of(evaluation.plan.metrics)
        for system, texts in files.items()
    ]
    return pd.concat(rows, ignore_index=True)


LABELLED = ("claim_recall", "claim_precision")
STREAM = 92


def label_files(evaluation: Evaluation, *, seed: int) -> dict[str, bytes]:
    """A CSV file for each system and direction, by name: all judged claims in random order, with an empty label.

    Labels of the first rows are then labels of a random sample, as prediction-powered inference requires. The column
    cluster is the document, text what the claim was compared with. Raises SourceError where DocLens was not chosen.
    """
    if "claims" not in evaluation.tables:
        raise SourceError("sheets for labels list the claims of DocLens; add doclens to --metrics")
    claims = evaluation.table("claims").dropna(subset=["value"])
    files = {}
    for number, system in enumerate(evaluation.systems, 1):
        for metric in LABELLED:
            mine = claims[(claims["system"] == system) & (claims["metric"] == metric)]
            if len(mine):
                texts = {one.id: _compared(one, metric, system) for one in evaluation.documents}
                files[f"labels/{metric}_{number}.csv"] = _sheet(mine, texts, [seed, STREAM, number])
    return files


def _compared(document: Document, metric: str, system: str) -> str:
    """The text that the document's claims are judged against: the output for recall, the reference for precision."""
    text = document.outputs.get(system) if metric == "claim_recall" else document.reference
    return text or ""


def _sheet(claims: pd.DataFrame, texts: Mapping[str, str], seed: list[int]) -> bytes:
    shuffled = claims.iloc[np.random.default_rng(seed).permutation(len(claims))]
    item = shuffled["document"] + "/" + shuffled["item"] + "/" + shuffled["unit"]
    columns = {"item": item, "judged": shuffled["value"].astype(int), "label": "", "cluster": shuffled["document"]}
    shown = {"claim": shuffled["text"], "text": shuffled["document"].map(texts)}
    return table_bytes(defused(pd.DataFrame({**columns, **shown})))
