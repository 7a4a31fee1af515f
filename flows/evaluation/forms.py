"""Forms in which clinicians check a measure's verdicts on each system, and their agreement with the judge.

Sheets on which people label the judge's verdicts, to be read with ``vignette agreement FILE``.
"""

import hashlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from flows.evaluation.work import Evaluation
from flows.runtime.folders import defused
from flows.runtime.tables import table_bytes
from schemas.errors import ParamsError, SourceError, did_you_mean
from schemas.params import Params
from tasks.judges.human_labels import JUDGED
from tasks.measures.doclens.judging import CLAIM_METRICS
from tasks.measures.doclens.judging import NAME as DOCLENS
from tasks.measures.med_omit.form import evaluated_agreement, evaluated_forms
from tasks.measures.med_omit.judging import NAME as MED_OMIT
from tasks.people.forms import read_returned


def form_files(evaluation: Evaluation, params: Params) -> dict[str, bytes]:
    """The forms on omissions for each system, by file name."""
    systems = {name: number for number, name in enumerate(evaluation.systems, 1)}
    pages = evaluated_forms(evaluation.documents, evaluation.tables, evaluation.plan, params)
    return {f"forms/omissions_{systems[system]}.html": html.encode() for system, html in pages.items()}


def require_methods(metrics: Sequence[str], *, forms: bool, labels: bool) -> None:
    """Raises ParamsError for forms and sheets of a measure that is not among the ``metrics`` of an evaluation."""
    if forms and MED_OMIT not in metrics:
        raise ParamsError(f"--forms and --returned: no chosen measure has a form; add {MED_OMIT} to --metrics")
    if labels and DOCLENS not in metrics:
        raise ParamsError(f"--labels lists DocLens's claims; add {DOCLENS} to --metrics, and references to the data")


def require_returned(returned: Sequence[tuple[str, Path]], systems: Sequence[str]) -> None:
    """Raise SourceError for a returned form that is not there, or of a system that is not evaluated."""
    for system, path in returned:
        if not path.is_file():
            raise SourceError(f"--returned {system}={path}: no such file; check the spelling and the working directory")
        if system not in systems:
            known = ", ".join(systems) + did_you_mean(system, systems)
            raise SourceError(f"--returned {system}={path}: no such system; expected {known}")


def clinicians_agreement(
    evaluation: Evaluation, returned: Sequence[tuple[str, Path]], params: Params
) -> tuple[pd.DataFrame, list[str]]:
    """METRICS of the agreement of clinicians with the judge and with each other, by system, and how much they answered.

    ``returned``: system and file of each returned form. Raises SourceError for another form.
    """
    files: dict[str, dict[str, str]] = {}
    for system, path in returned:
        files.setdefault(system, {})[str(path)] = read_returned(path)
    rows = [evaluated_agreement(system, texts, evaluation.tables, params) for system, texts in files.items()]
    table = pd.concat(rows, ignore_index=True)
    answered = table[table["metric"].eq("agreement") & table["item"].eq("omission")]
    said = [
        f"{one.condition}: returned forms answer {one.n} of {one.n + one.unscored} facts (tables/clinicians.csv)"
        for one in answered.itertuples()
    ]
    return table, said


STREAM = 92


def label_files(evaluation: Evaluation, *, seed: int) -> dict[str, bytes]:
    """A CSV file for each system and direction, by name: all judged claims in random order, with an empty label.

    Labels of the first rows are then labels of a random sample, as prediction-powered inference requires. The column
    cluster is the document, text what the claim was compared with: the output for recall, the reference for precision.
    The verdicts, which people must not see, are in a file of their own; an item ends with the hash of what was judged.
    """
    claims, files = evaluation.tables["claims"].dropna(subset=["value"]), dict[str, bytes]()
    verdicts = [pd.DataFrame(columns=["item", "judged", "metric", "system"])]
    for number, system in enumerate(evaluation.systems, 1):
        for metric in CLAIM_METRICS:
            mine = claims[(claims["system"] == system) & (claims["metric"] == metric)]
            if mine.empty:
                continue
            documents, of_output = evaluation.documents, metric == "claim_recall"
            texts = {one.id: (one.outputs.get(system) if of_output else one.reference) or "" for one in documents}
            shuffled = mine.iloc[np.random.default_rng([seed, STREAM, number]).permutation(len(mine))]
            text = shuffled["document"].map(texts)
            content = metric + "\n" + system + "\n" + shuffled["text"] + "\n" + text
            digest = content.map(lambda one: hashlib.sha256(one.encode()).hexdigest()[:8])
            item = shuffled["document"] + "/" + shuffled["item"] + "/" + shuffled["unit"] + "/" + digest
            sheet = {
                "item": item,
                "label": "",
                "cluster": shuffled["document"],
                "claim": shuffled["text"],
                "text": text,
            }
            files[f"labels/{metric}_{number}.csv"] = table_bytes(defused(pd.DataFrame(sheet)))
            judged = {"item": item, "judged": shuffled["value"].astype(int), "metric": metric, "system": system}
            verdicts.append(pd.DataFrame(judged))
    return {**files, f"labels/{JUDGED}": table_bytes(defused(pd.concat(verdicts)))}
