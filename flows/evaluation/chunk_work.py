"""What is done to one chunk of the documents of an evaluation."""

from collections.abc import Callable, Sequence

import pandas as pd

from flows.engine.chunks import Frames
from schemas.params import Params
from schemas.params.llm import RoleName
from schemas.tables.columns import typed
from schemas.tables.metrics import UNSCORED
from tasks.encoder import unit_vectors
from tasks.evaluation.doclens.outputs_work import Lost
from tasks.evaluation.documents.judging import (
    Work,
    judge_claims_and_citations,
    judge_omitted_facts,
    write_documents,
)
from tasks.evaluation.documents.model import documents_of, documents_table
from tasks.evaluation.documents.planted import judge_planted_references
from tasks.evaluation.documents.questions import judge_answers
from tasks.llm.calls import Ask

Asks = Callable[[RoleName], Ask]


async def write_chunk(work: Work, frames: Frames, ask: Asks, params: Params) -> Frames:
    """Outputs of the writer for one chunk of documents; ``lost``: sections that could not be written."""
    del params
    documents, lost, unscored = await write_documents(ask("writer"), documents_of(frames["documents"]), work)
    return {"documents": documents_table(documents), "lost": lost_table(lost), "unscored": unscored}


def lost_table(lost: Sequence[Lost]) -> pd.DataFrame:
    """Sections that could not be written: system, document, section."""
    return pd.DataFrame(lost, columns=["system", "document", "section"], dtype="str")


async def judge_chunk(work: Work, frames: Frames, ask: Asks, params: Params) -> Frames:
    """Judgements on one chunk of documents."""
    documents, judge = documents_of(frames["documents"]), ask("judge")
    made: Frames = {}
    unscored = []
    if "doclens" in work.metrics:
        lost = list(frames["lost"].itertuples(index=False, name=None))
        made |= await judge_claims_and_citations(judge, documents, params.doclens, work, lost)
        unscored.append(made.pop("unscored"))
    if "med_omit" in work.metrics:
        encode = unit_vectors(params.embed.encoder, params.embed.precision, params.embed.device)
        made |= await judge_omitted_facts(judge, documents, params.med_omit, work, encode)
        unscored.append(made.pop("unscored"))
    if "qa" in work.metrics:
        made |= await judge_answers(ask, documents, params.note_qa, work.citing)
        unscored.append(made.pop("unscored"))
    return {**made, "unscored": pd.concat(unscored, ignore_index=True) if unscored else typed([], UNSCORED)}


async def planted_chunk(frames: Frames, ask: Asks, params: Params) -> Frames:
    """The judge's answers on errors planted into one chunk of references."""
    documents, removed = documents_of(frames["documents"]), params.calibrate.facts
    return await judge_planted_references(ask("judge"), documents, params.doclens, removed=removed, seed=params.seed)
