"""Measures the judge on the user's own text: errors are planted into the references, so that the answers are known."""

from collections.abc import Sequence

import pandas as pd

from schemas.params.doclens import DocLens
from tasks.evaluation.calibration.judging import judge_planted
from tasks.evaluation.doclens.setup import make_evaluator
from tasks.evaluation.documents.judging import Tables
from tasks.evaluation.documents.model import Document
from tasks.llm.calls import Ask
from tasks.llm.unscored import unscored_table
from tasks.statistics.sampling import sample_records


def sampled_references(documents: Sequence[Document], count: int, *, seed: int) -> list[Document]:
    """A seeded sample of the documents with a reference."""
    having = [document for document in documents if document.reference is not None]
    chosen = set(sample_records(pd.Series(range(len(having))), count, seed=seed))
    return [document for place, document in enumerate(having) if place in chosen]


async def judge_planted_references(
    judge: Ask, documents: Sequence[Document], params: DocLens, *, removed: int, seed: int
) -> Tables:
    """Tables planted (PLANTED) and unscored: the judge's answers on altered claims, removed sentences and citations.

    ``removed``: sentences that are taken out of each reference.
    """
    references = {document.id: str(document.reference) for document in documents}
    planted, unscored = await judge_planted(
        judge, make_evaluator(params, judge), references, removed=removed, seed=seed
    )
    return {"planted": planted, "unscored": unscored_table(unscored)}


def numbered(planted: pd.DataFrame) -> pd.DataFrame:
    """The planted cases of all chunks in a fixed order, numbered."""
    ordered = planted.sort_values(["document", "step", "kind", "text"], ignore_index=True)
    return ordered.assign(case=range(len(ordered)))
