"""Several judges of the same claims, facts and answers: who lists and who judges, and the tables that compare them."""

import asyncio
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, get_args

import pandas as pd

from schemas.params import Params
from schemas.tables.columns import typed
from schemas.tables.evaluate import CLAIMS, GROUNDED
from schemas.tables.evaluation import OMITTED, VERDICTS_BY_JUDGE
from tasks.llm.calls import Answer, Ask, Call, unscored_table
from tasks.measures.doclens import metrics as doclens
from tasks.measures.doclens.subclaims import Subclaims
from tasks.measures.evaluation import Plan, evaluation_tables
from tasks.measures.grounding import grounding
from tasks.measures.med_omit import metrics as med_omit
from tasks.measures.med_omit.cases import cases_of, find_omissions
from tasks.measures.med_omit.judging import EndOfHistory, omitted_rows
from tasks.measures.med_omit.replies import Differential, EvidenceClusters, Facts, Importances, Mechanisms
from tasks.measures.note_qa import judging as note_qa
from tasks.statistics.metric_rows import metric_table
from tasks.statistics.panels import PANEL, Board, agreement_rows, family_rows, majority, rank_rows
from tasks.texts.document import WHOLE, Document, Tables

STAGE = "judges"
LISTS = (Subclaims, Facts, Differential, Importances, EvidenceClusters, Mechanisms, EndOfHistory)
"""Replies that say what is judged and what it weighs, rather than judge it."""
SHARES = (
    *("claim_recall", "claim_precision", "citation_recall", "citation_precision", "claims_supported"),
    *("claims_contradicted", "omission_share", "qa_free_text"),
)
"""Metrics that are shares of a judge's verdicts, by which systems are ranked."""
LOWER_IS_BETTER = ("claims_contradicted", "omission_share")
_JUDGED = re.compile(rf"(?:{'|'.join(SHARES)}|omission_count|omission_weight)(?:_graded)?(?:_pooled)?(?:_bounds)?")
_CASE = ["stage", "document", "system", "item", "metric", "case"]


class Divided:
    """Has ``lister`` list claims and facts and weigh them, and ``judge`` answer all other calls."""

    def __init__(self, lister: Ask, judge: Ask) -> None:
        self._lister, self._judge, self.label = lister, judge, judge.label

    async def __call__(self, calls: Sequence[Call]) -> list[Answer]:
        """Answer the calls, in order."""
        lists = [call.reply in LISTS for call in calls]
        parts = [[call for call, one in zip(calls, lists, strict=True) if one is side] for side in (False, True)]
        sides = zip((self._judge, self._lister), parts, strict=True)
        found = await asyncio.gather(*(ask(part) if part else _nothing() for ask, part in sides))
        given = [iter(answers) for answers in found]
        return [next(given[one]) for one in lists]


async def _nothing() -> list[Answer]:
    return []


class Once:
    """Asks each distinct request once and keeps the answer, failures included: all judges get the same lists."""

    def __init__(self, ask: Ask) -> None:
        self._ask, self.label = ask, ask.label
        self._asked: dict[Call, tuple[asyncio.Future[list[Answer]], int]] = {}

    async def __call__(self, calls: Sequence[Call]) -> list[Answer]:
        """Answer the calls, in order."""
        requests = [replace(call, key="") for call in calls]
        distinct = dict(zip(requests, calls, strict=True))
        if new := [request for request in distinct if request not in self._asked]:
            answers = asyncio.ensure_future(self._ask([distinct[request] for request in new]))
            self._asked |= {request: (answers, at) for at, request in enumerate(new)}
        found = [self._asked[request] for request in requests]
        return [replace((await answers)[at], key=call.key) for call, (answers, at) in zip(calls, found, strict=True)]


def verdicts_of(made: Mapping[str, pd.DataFrame], judge: str) -> pd.DataFrame:
    """VERDICTS_BY_JUDGE of one judge's tables (`tasks.measures.evaluation.evaluate_chunk`).

    A text whose claims could not be listed has none. An answer in free text is accepted where more than half of the
    judge's takes accept it.
    """
    parts = []
    if "judged" in made:
        claims = made["judged"]
        parts.append(claims.assign(stage=doclens.STAGE, case=claims["position"].astype(str)))
    if "grounded" in made:
        claims = grounding.judged_shares(made["grounded"])
        parts.append(claims.assign(stage=grounding.STAGE, case=claims["position"].astype(str)))
    if "omitted" in made:
        facts = made["omitted"].merge(made["facts"][["document", "fact", "text"]], on=["document", "fact"])
        facts = facts.rename(columns={"fact": "case", "omitted": "judged"})
        parts.append(facts.assign(stage=med_omit.STAGE, item=WHOLE, metric="omission_share"))
    if "answered" in made:
        asked = made["answered"][made["answered"]["form"] == "free_text"]
        accepted = (asked["score"] > 0.5).astype("boolean").mask(asked["score"].isna())
        about = {"stage": note_qa.STAGE, "item": WHOLE, "metric": note_qa.METRICS["free_text"]}
        parts.append(asked.assign(judged=accepted, case=asked["question"], text=asked["answer"].fillna(""), **about))
    columns = [name for name in VERDICTS_BY_JUDGE.columns if name != "judge"]
    rows = pd.concat([part[columns] for part in parts], ignore_index=True) if parts else pd.DataFrame(columns=columns)
    listed = (rows["text"] != "") | (rows["stage"] == note_qa.STAGE)
    found = typed(rows[listed].assign(judge=judge), VERDICTS_BY_JUDGE)
    return found.sort_values(list(VERDICTS_BY_JUDGE.unique or []), ignore_index=True)


def majority_of(made: Mapping[str, Tables]) -> Tables:
    """The tables of a judge that answers as more than half of all do (`tasks.statistics.panels.majority`).

    Whether a source supports a claim, contradicts it or lacks it takes more than half as well.
    """
    found = dict(next(iter(made.values())))
    if "judged" in found:
        rows, votes = _votes(made, "judged", list(CLAIMS.unique or []), "judged")
        found["judged"] = typed(rows.assign(judged=majority(votes), degree=None, reason=None).reset_index(), CLAIMS)
    if "grounded" in found:
        rows, votes = _votes(made, "grounded", list(GROUNDED.unique or []), "verdict")
        verdict = pd.Series(None, index=votes.index, dtype=object)
        for name in get_args(grounding.Verdict):
            given = votes.eq(name).astype("boolean").mask(votes.isna())
            verdict[majority(given).fillna(False).astype(bool)] = name
        found["grounded"] = typed(rows.assign(verdict=verdict, reason=None).reset_index(), GROUNDED)
    if "omitted" in found:
        rows, votes = _votes(made, "omitted", list(OMITTED.unique or []), "omitted")
        found["omitted"] = typed(rows.assign(omitted=majority(votes), extent=None).reset_index(), OMITTED)
    if "answered" in found:
        rows, votes = _votes(made, "answered", note_qa.KEY, "score")
        accepted = majority(votes.gt(0.5).astype("boolean").mask(votes.isna())).astype("Float64").astype(float)
        free = rows.index.get_level_values("form") == "free_text"
        found["answered"] = rows.assign(score=accepted.where(free, rows["score"])).reset_index()[
            list(found["answered"].columns)
        ]
    return found


def _votes(made: Mapping[str, Tables], table: str, key: list[str], column: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The first judge's rows of a table by ``key``, and every judge's values of a column on the same rows."""
    rows = next(iter(made.values()))[table].set_index(key)
    votes = {judge: one[table].set_index(key)[column].reindex(rows.index) for judge, one in made.items()}
    return rows, pd.DataFrame(votes)


def by_judge(
    documents: Sequence[Document],
    plan: Plan,
    made: Mapping[str, Tables],
    params: Params,
    labels: Mapping[str, str],
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """METRICS by judge and of the majority of two or more, with the judge as condition; and the judges' shares.

    The shares have a row by judge, document, system and item (the metric), for `rank_rows`. ``labels``: model by judge.
    """
    plan = replace(plan, metrics=tuple(name for name in plan.metrics if name != "overlap"))
    metrics, shares = [metric_table([])], []
    for judge, tables in _with_majority(made).items():
        rows, scores = evaluation_tables(documents, plan, tables, params, provenance=_made_by(judge, labels))
        metrics.append(rows[rows["metric"].str.fullmatch(_JUDGED)].assign(condition=judge))
        chosen = scores["metric"].isin(SHARES) & scores["item"].eq(WHOLE) & scores["system"].isin(plan.systems)
        if judge != PANEL:
            shares.append(scores[chosen].assign(judge=judge, item=scores["metric"]))
    return pd.concat(metrics, ignore_index=True), pd.concat(shares, ignore_index=True)


def agreement_table(
    verdicts: pd.DataFrame,
    shares: pd.DataFrame,
    planted: pd.DataFrame | None = None,
    families: Mapping[str, str] | None = None,
    *,
    judges: Sequence[str],
    seed: int,
) -> pd.DataFrame:
    """METRICS of how judges compare: pairs of them, all together, ranks of systems, families, and planted errors.

    ``verdicts``: VERDICTS_BY_JUDGE. ``shares`` as of `by_judge`. ``planted``: PLANTED with the judge as provenance,
    where the truth is known. Item: the metric, or for planted errors "planted: " and the judge's step.
    """
    rows = agreement_rows(_boards(verdicts, judges))
    if planted is not None:
        rows += agreement_rows(_planted_boards(planted, judges))
    rows += rank_rows(shares, LOWER_IS_BETTER)
    rows += family_rows(shares, families) if families else []
    return metric_table(rows, stage=STAGE, seed=seed)


def _boards(verdicts: pd.DataFrame, judges: Sequence[str]) -> list[Board]:
    by_metric = verdicts.groupby("metric", sort=True)
    return [_board(str(metric), group, _CASE, judges) for metric, group in by_metric]


LISTED: Collection[str] = ("subclaims", "facts")
"""Steps of planted cases that measure whoever lists."""


def _planted_boards(planted: pd.DataFrame, judges: Sequence[str]) -> list[Board]:
    key, rows = ["document", "kind", "text"], planted.rename(columns={"provenance": "judge"})
    return [
        _board(f"planted: {step}", group.assign(case=group.groupby(["judge", *key]).cumcount()), [*key, "case"], judges)
        for step, group in rows[~rows["step"].isin(LISTED)].groupby("step", sort=True)
    ]


def _board(name: str, rows: pd.DataFrame, key: list[str], judges: Sequence[str]) -> Board:
    """The judges' verdicts on the cases that ``key`` identifies, with the truth where ``rows`` have it."""
    votes = rows.pivot(index=key, columns="judge", values="judged").reindex(columns=list(judges)).astype("boolean")
    truth = rows.drop_duplicates(key).set_index(key)["truth"].reindex(votes.index) if "truth" in rows else None
    return Board(name, votes, pd.Series(votes.index.get_level_values("document"), index=votes.index), truth)


class Listed:
    """In the place of a lister, answers the requests of DocLens for claims with those that JUDGED has."""

    label = "claims as listed before"

    def __init__(self, judged: pd.DataFrame) -> None:
        listed = judged[judged["text"] != ""].sort_values("position")
        sides = listed["document"] + "/" + listed["system"] + "/" + listed["item"] + "/" + listed["metric"]
        self._claims = {str(side): claims.tolist() for side, claims in listed["text"].groupby(sides)}

    async def __call__(self, calls: Sequence[Call]) -> list[Answer]:
        """Answer the calls, in order; a later round has no more claims, and a text that could not be listed none."""
        return [self._answer(call) for call in calls]

    def _answer(self, call: Call) -> Answer:
        side, _, again = call.key.partition("/subclaims")
        if side not in self._claims:
            return Answer(call.key, failure=NOT_LISTED)
        claims = [] if again else self._claims[side]
        return Answer(call.key, text="", value=Subclaims.model_construct(claims=claims))


NOT_LISTED = "its claims could not be listed"
"""Reason of unscored rows that are the lister's, not the judge's."""


async def judge_facts(ask: Ask, facts: pd.DataFrame, summaries: Mapping[str, str], system: str) -> Tables:
    """Tables omitted (OMITTED) and unscored: which of the FACTS of each document its summary omits."""
    cases = cases_of(facts)
    found, unscored = await find_omissions(ask, cases, summaries)
    return {"omitted": typed(omitted_rows(cases, found, system), OMITTED), "unscored": unscored_table(unscored)}


def figures_by_judge(
    made: Mapping[str, Tables], labels: Mapping[str, str], *, seed: int
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """METRICS of DocLens and of MED-OMIT by judge and of the majority, with the judge as condition.

    They are computed from the tables judged (CLAIMS), facts and omitted.
    """
    claims, omissions = [], []
    for judge, tables in _with_majority(made).items():
        about: dict[str, Any] = {"seed": seed, "provenance": _made_by(judge, labels)}
        claims.append(doclens.metric_rows(tables["judged"], **about).assign(condition=judge))
        size = tables["omitted"].groupby("system")["document"].nunique().to_dict()
        scores = med_omit.document_scores(tables["facts"], tables["omitted"])
        rows = med_omit.metric_rows(scores, documents=size, condition=judge, **about)
        omissions.append(rows[rows["metric"].str.fullmatch(_JUDGED)])
    return pd.concat(claims, ignore_index=True), pd.concat(omissions, ignore_index=True)


def shares_of(made: Mapping[str, Tables]) -> pd.DataFrame:
    """The judges' shares of whole texts, as of `by_judge`, from the tables judged, facts and omitted."""
    parts = []
    for judge, tables in made.items():
        omissions = med_omit.document_scores(tables["facts"], tables["omitted"]).dropna(subset="share")
        omissions = omissions.assign(value=omissions["share"], metric="omission_share", item=WHOLE)
        scores = pd.concat([doclens.document_scores(tables["judged"]), omissions], ignore_index=True)
        whole = scores[scores["item"].eq(WHOLE) & scores["metric"].isin(SHARES)]
        parts.append(whole.assign(judge=judge, item=whole["metric"])[["judge", "document", "system", "item", "value"]])
    return pd.concat(parts, ignore_index=True)


def _with_majority(made: Mapping[str, Tables]) -> dict[str, Tables]:
    return dict(made) | ({PANEL: majority_of(made)} if len(made) > 1 else {})


def _made_by(judge: str, labels: Mapping[str, str]) -> str:
    return f"judge: {labels[judge]}" if judge in labels else f"judges: {', '.join(labels)}"
