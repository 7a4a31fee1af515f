"""A strong model's recorded judgements of published outputs on ACI-BENCH: what was asked, and the replies.

Claim recall is judged on all encounters, claim precision and the omissions of MED-OMIT on drawn ones, and citations of
notes that the model wrote itself for a few. Params that shape a request are those of the recording, whatever a run has.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from flows.runtime.chunks import Frames
from flows.runtime.workspace import root
from schemas.params import Params
from schemas.params.measures import DocLens, MedOmit
from schemas.tables.columns import typed
from schemas.tables.evaluation import RECORDED_CLAIMS
from tasks.encoder import unit_vectors
from tasks.llm.calls import Ask
from tasks.llm.recorded import RecordedAsk, read_recorded
from tasks.measures.doclens.judging import Plan, judge, write_and_judge
from tasks.measures.doclens.reproduction import KEYS
from tasks.measures.doclens.writing import writer
from tasks.measures.med_omit import judging as med_omit
from tasks.measures.med_omit.metrics import SYSTEMS
from tasks.texts.document import Document

FILE = Path("tests/cassettes/aci_bench.jsonl.gz")
STRONG = "strong model (recorded)"
SEED = 0
PRECISE, VISITS, CITED = 16, 20, 8
"""Encounters whose claims of outputs, omissions and cited notes were judged."""
CITING = "strong model's cited notes"
_DOCLENS: dict[str, Any] = {
    **{"evaluator": "instruction", "style": "json_cot", "examples": 2, "citations": "definition"},
    **{"claims_a_call": 20, "claims_a_reply": 30, "claim_rounds": 4, "writer_examples": 0},
}
_MED_OMIT: dict[str, Any] = {"compare_differentials": True, "least_lines": 5, "removed_facts": 0}


def recorded() -> RecordedAsk:
    """The recorded replies."""
    return RecordedAsk(STRONG, read_recorded(root() / FILE))


def drawn(documents: Sequence[Document], size: int) -> list[Document]:
    """``size`` documents drawn without replacement, in their order; a smaller draw is part of no larger one."""
    ids = sorted(one.id for one in documents)
    chosen = set(np.random.default_rng([SEED, size]).choice(ids, min(size, len(ids)), replace=False))
    return [one for one in documents if one.id in chosen]


async def judge_claims(documents: Sequence[Document], ask: Ask, write: Ask, params: DocLens) -> Frames:
    """DocLens's tables `judged` and `unscored`: recall of all outputs, precision of those drawn, own citations."""
    params = params.model_copy(update=_DOCLENS)
    precise = {one.id for one in drawn(documents, PRECISE)}
    others, both = ([one for one in documents if (one.id in precise) is chosen] for chosen in (False, True))
    cited = [replace(one, outputs={}) for one in drawn(documents, CITED)]
    citing = Plan(sections="soap", citing=(CITING,), claimed=(), expected=(CITING,))
    own = writer("cited_note", params.writer_examples, name=CITING, by_section=False)
    made = await asyncio.gather(
        judge(ask, others, Plan(sections="soap", precision=False), params),
        judge(ask, both, Plan(sections="soap"), params),
        write_and_judge(write, ask, cited, [own], citing, params),
    )
    return {name: pd.concat([one[name] for one in made], ignore_index=True) for name in ("judged", "unscored")}


def claims_table(judged: pd.DataFrame, rules: pd.DataFrame) -> pd.DataFrame:
    """RECORDED_CLAIMS: every judgement with its reason, and the verdict of the simulator's rules on the same claim."""
    return typed(judged.merge(rules[[*KEYS, "judged"]], on=KEYS, how="left", suffixes=("", "_rules")), RECORDED_CLAIMS)


async def judge_omissions(documents: Sequence[Document], ask: Ask, params: Params) -> Frames:
    """MED-OMIT's tables of the subjective parts of GPT-4's and ChatGPT's notes of `visits_drawn`."""
    encode = unit_vectors(params.embed.encoder, params.embed.precision, params.embed.device)
    asked: MedOmit = params.med_omit.model_copy(update=_MED_OMIT)
    plan = med_omit.Plan("history", asked.least_lines)
    return await med_omit.judge(ask, visits_drawn(documents), plan, asked, encode)


def visits_drawn(documents: Sequence[Document]) -> list[Document]:
    """The encounters whose omissions were judged, with the outputs of the models that the paper judges."""
    systems = set(SYSTEMS.values())
    return [
        replace(one, outputs={name: text for name, text in one.outputs.items() if name in systems})
        for one in drawn(documents, VISITS)
    ]
