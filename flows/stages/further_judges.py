"""Stage `further_judges`: other judges of the claims and facts that doclens and med_omit listed."""

from dataclasses import replace
from functools import partial

import pandas as pd

from flows.runtime.chunks import Frames
from flows.runtime.stage import Stage
from schemas.params import Params
from schemas.tables.columns import typed
from schemas.tables.evaluate import CLAIMS
from tasks.domains.rules import rules_of
from tasks.llm.calls import Asks, unscored_table
from tasks.measures.doclens.documents import CITED, judge_written, note_documents, prompted_documents
from tasks.measures.evaluation import in_order
from tasks.measures.med_omit.metrics import SYSTEM
from tasks.measures.panel import (
    NOT_LISTED,
    Divided,
    Listed,
    agreement_table,
    figures_by_judge,
    judge_facts,
    shares_of,
    verdicts_of,
)
from tasks.statistics.metric_rows import metric_table

JUDGE = "judge"
"""Name of the role's judge among the others."""
TABLES = ("doclens_by_judge", "med_omit_by_judge", "judge_agreement")


async def run(stage: Stage) -> None:
    """Judge, and compare the judges; empty tables without further judges."""
    names, seed = list(stage.params.judges), stage.params.seed
    if not names:
        stage.save_empty("verdicts_by_judge")
        stage.save_unscored("unscored_further_judges", unscored_table([]), of=0)
        for stem in TABLES:
            stage.save_metrics(stem, metric_table([]))
        return
    claims = typed(stage.load("doclens_judged").assign(degree=None, reason=None), CLAIMS)
    facts, omitted = stage.load("facts"), stage.load("omitted")
    made = {JUDGE: {"judged": claims, "facts": facts, "omitted": omitted}}
    frames = _frames(stage, claims, facts)
    unscored = []
    for name in names:
        found = await stage.judged_by(name).in_chunks(partial(judge_chunk, name), frames)
        made[name] = in_order({table: found[table] for table in ("judged", "omitted")}) | {"facts": facts}
        unscored.append(found["unscored"])
    verdicts = pd.concat([verdicts_of(tables, name) for name, tables in made.items()], ignore_index=True)
    failed = pd.concat(unscored, ignore_index=True)
    stage.save("verdicts_by_judge", verdicts)
    stage.save_unscored("unscored_further_judges", failed, of=len(verdicts[verdicts["judge"] != JUDGE]) + len(failed))

    labels = {JUDGE: stage.ask("judge").label} | {name: stage.judged_by(name).ask("judge").label for name in names}
    of_claims, of_omissions = figures_by_judge(made, labels, seed=seed)
    stage.save_metrics("doclens_by_judge", of_claims)
    stage.save_metrics("med_omit_by_judge", of_omissions)
    stage.save_metrics("judge_agreement", agreement_table(verdicts, shares_of(made), judges=list(made), seed=seed))


def _frames(stage: Stage, claims: pd.DataFrame, facts: pd.DataFrame) -> Frames:
    """The texts of all records that were judged, with their claims and facts by record."""
    by_record = {"claims": claims.assign(record=claims["document"].astype("int64"))}
    by_record["facts"] = facts.assign(record=facts["document"].astype("int64"))
    judged = set().union(*(frame["record"] for frame in by_record.values()))
    texts = {"notes": stage.load("notes"), "compact": stage.load("compact_notes"), "prompts": stage.load("prompts")}
    texts["cited"] = stage.load("cited_compact")
    return by_record | {
        name: frame[frame["record"].isin(judged)].reset_index(drop=True) for name, frame in texts.items()
    }


async def judge_chunk(name: str, frames: Frames, ask: Asks, params: Params) -> Frames:
    """Verdicts of the judge called ``name`` on the claims and facts of one chunk of notes."""
    judge, rules = ask("judge"), rules_of(params.domain)
    claims, notes, compact = frames["claims"], frames["notes"], frames["compact"]
    listed = notes[notes["record"].isin(claims["record"])]
    cited = dict(zip(frames["cited"]["record"].astype(str), frames["cited"]["cited"], strict=True))
    documents = [
        replace(one, outputs={**one.outputs, CITED: cited[one.id]} if one.id in cited else one.outputs)
        for one in note_documents(listed, compact)
    ]
    prompted = prompted_documents(listed, frames["prompts"], rules)
    made = await judge_written(Divided(Listed(claims), judge), documents, prompted, rules, params.doclens)
    summaries = dict(zip(compact["record"].astype(str), compact["compact"], strict=True))
    omissions = await judge_facts(judge, frames["facts"], summaries, SYSTEM)
    unscored = pd.concat([made["unscored"], omissions["unscored"]], ignore_index=True)
    own = unscored[~unscored["reason"].str.contains(NOT_LISTED, regex=False)]
    return {
        "judged": made["judged"],
        "omitted": omissions["omitted"],
        "unscored": own.assign(step=own["step"] + f", judge {name}"),
    }
