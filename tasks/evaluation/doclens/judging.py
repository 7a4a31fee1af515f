"""Judges the claims and citations of texts and collects the judgements in one table."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pandas as pd

from tasks.evaluation.doclens.citation_score import necessary_citations, provenance_citations
from tasks.evaluation.doclens.citations import Statement, judge_citations, judge_citations_in_one_call
from tasks.evaluation.doclens.claim_score import Judgement
from tasks.evaluation.doclens.evaluators import Definitions, Evaluator, Question
from tasks.evaluation.doclens.subclaims import Claims, Limits, list_subclaims
from tasks.llm.calls import Ask
from tasks.llm.unscored import unscored_row

COLUMNS = ["document", "system", "condition", "item", "metric", "position", "text", "judged"]
Unscored = list[dict[str, str | None]]
_LAST = 1_000_000
"""Position after all claims and citations of a text."""
CLAIM_METRICS, CITATION_METRICS = ("claim_recall", "claim_precision"), ("citation_recall", "citation_precision")


@dataclass(frozen=True)
class Pair:
    """An output and its reference. Given claims are used unchanged; missing ones are listed by the judge.

    ``recall`` and ``precision`` select the scores computed from the pair. ``definitions``: see `Question`.
    """

    document: str
    system: str
    reference: str
    output: str
    item: str = "all"
    reference_claims: tuple[str, ...] | None = None
    output_claims: tuple[str, ...] | None = None
    recall: bool = True
    precision: bool = True
    definitions: Definitions = ()

    @property
    def key(self) -> str:
        """Identifier of the pair in calls and unscored rows."""
        return f"{self.document}/{self.system}/{self.item}"


REASONS = ["document", "system", "item", "metric", "position", "reason"]


@dataclass(frozen=True)
class Judged:
    """Judgements (JUDGED), failed judgements (UNSCORED rows), and the reasons that the judge gave (columns REASONS)."""

    table: pd.DataFrame
    unscored: Unscored = field(default_factory=list)
    reasons: pd.DataFrame = field(default_factory=lambda: reasons_table([]))


def join_judged(parts: Sequence[Judged]) -> Judged:
    """Several judgements as one."""
    tables, reasons = [one.table for one in parts if len(one.table)], [one.reasons for one in parts if len(one.reasons)]
    return Judged(
        pd.concat(tables, ignore_index=True) if tables else judged_table([]),
        [row for one in parts for row in one.unscored],
        pd.concat(reasons, ignore_index=True) if reasons else reasons_table([]),
    )


async def judge_claims(
    ask: Ask, evaluator: Evaluator, pairs: Sequence[Pair], *, condition: str, limits: Limits
) -> Judged:
    """Judge claim recall and claim precision of every pair.

    A text whose claims could not be listed, or has more than ``limits`` allow, leaves one null judgement and an
    unscored row.
    """
    wanted = {
        f"{pair.key}/reference": pair.reference for pair in pairs if pair.recall and pair.reference_claims is None
    }
    wanted |= {f"{pair.key}/output": pair.output for pair in pairs if pair.precision and pair.output_claims is None}
    listed = await list_subclaims(ask, wanted, limits)
    asked: list[tuple[Pair, str, Claims, Question]] = []
    unscored: Unscored = []
    for pair in pairs:
        for metric, premise, claims in _directions(pair, listed):
            question = Question(f"{pair.key}/{metric}", premise, claims.claims, pair.definitions)
            asked.append((pair, metric, claims, question))
            if problem := _problem(claims, limits):
                unscored.append(unscored_row(pair.document, f"{metric} of {pair.system}", problem, claims.raw))
    verdicts = await evaluator([question for *_, question in asked])
    rows, reasons = list[tuple[object, ...]](), list[tuple[object, ...]]()
    for (pair, metric, claims, question), verdict in zip(asked, verdicts, strict=True):
        start = (pair.document, pair.system, pair.item, metric)
        reasons.extend((*start, at, reason) for at, reason in enumerate(verdict.reasons) if reason)
        lost = [""] if claims.failure or claims.more else []
        judgements = (*verdict.judgements, *[None for _ in lost])
        rows.extend(_rows(pair, condition, metric, (*question.claims, *lost), judgements))
        if verdict.failure is not None:
            unscored.append(unscored_row(pair.document, f"{metric} of {pair.system}", verdict.failure, verdict.raw))
    return Judged(judged_table(rows), unscored, reasons_table(reasons))


def _directions(pair: Pair, listed: Mapping[str, Claims]) -> list[tuple[str, str, Claims]]:
    """(metric, premise, claims) of each direction in which the pair is judged."""
    found = []
    if pair.recall:
        given = pair.reference_claims
        claims = listed[f"{pair.key}/reference"] if given is None else Claims(given)
        found.append(("claim_recall", pair.output, claims))
    if pair.precision:
        given = pair.output_claims
        claims = listed[f"{pair.key}/output"] if given is None else Claims(given)
        found.append(("claim_precision", pair.reference, claims))
    return found


def _problem(claims: Claims, limits: Limits) -> str | None:
    if claims.more:
        return f"more claims than {limits.rounds} replies of {limits.claims} (doclens.claim_rounds, claims_a_reply)"
    return claims.failure


def unwritten(document: str, system: str, condition: str, item: str, metrics: Sequence[str]) -> pd.DataFrame:
    """JUDGED rows of a text or section that could not be written: one null judgement for each metric."""
    return judged_table([(document, system, condition, item, metric, _LAST, "", None) for metric in metrics])


def _rows(
    pair: Pair, condition: str, metric: str, texts: Sequence[str], judgements: Sequence[Judgement]
) -> list[tuple[object, ...]]:
    start = (pair.document, pair.system, condition, pair.item, metric)
    return [(*start, at, text, judged) for at, (text, judged) in enumerate(zip(texts, judgements, strict=True))]


@dataclass(frozen=True)
class CitedText:
    """A cited output's statements and the numbered sentences of its input.

    ``sections``: the section of each statement, for an output that is divided; otherwise empty.
    """

    document: str
    system: str
    statements: tuple[Statement, ...]
    source: tuple[str, ...]
    sections: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """Identifier of the text in calls and unscored rows."""
        return f"{self.document}/{self.system}/all"


async def judge_cited_texts(
    ask: Ask, evaluator: Evaluator, texts: Sequence[CitedText], *, condition: str, one_call: bool = False
) -> Judged:
    """Judge citation recall and precision of every text, by the definition or with one call per statement."""
    outputs = {text.key: text.statements for text in texts}
    sources = {text.key: text.source for text in texts}
    failures: list[tuple[str, str, str | None]]
    if one_call:
        answered, failures = await judge_citations_in_one_call(ask, outputs, sources)
        judged = {
            key: [(supported, provenance_citations(supported, s.citations, named)) for supported, s, named in found]
            for key, found in answered.items()
        }
    else:
        defined, failures = await judge_citations(evaluator, outputs, sources)
        judged = {key: [(s.supported, necessary_citations(s)) for s in found] for key, found in defined.items()}
    rows = [row for text in texts for row in _citation_rows(text, condition, judged[text.key])]
    unscored = [unscored_row(key.split("/")[0], key.split("/", 1)[1], reason, raw) for key, reason, raw in failures]
    return Judged(judged_table(rows), unscored)


def _citation_rows(
    text: CitedText, condition: str, judged: Sequence[tuple[Judgement, Sequence[Judgement]]]
) -> list[tuple[object, ...]]:
    rows: list[tuple[object, ...]] = []
    position = 0
    sections = text.sections or ("all",) * len(text.statements)
    for at, (section, statement, (supported, necessary)) in enumerate(
        zip(sections, text.statements, judged, strict=True)
    ):
        start = (text.document, text.system, condition, section)
        rows.append((*start, "citation_recall", at, statement.text, supported))
        for citation, one in zip(statement.citations, necessary, strict=True):
            rows.append((*start, "citation_precision", position, f"{statement.text} [{citation}]", one))
            position += 1
    return rows


def judged_table(rows: Sequence[tuple[object, ...]]) -> pd.DataFrame:
    """Rows as a JUDGED table; column types are set even without rows."""
    frame = pd.DataFrame(list(rows), columns=COLUMNS)
    names = [name for name in COLUMNS if name not in ("position", "judged")]
    return frame.astype({**dict.fromkeys(names, "str"), "position": "int64", "judged": "boolean"})


def reasons_table(rows: Sequence[tuple[object, ...]]) -> pd.DataFrame:
    """The judge's reasons as a table with the columns REASONS."""
    frame = pd.DataFrame(list(rows), columns=REASONS)
    return frame.astype({**dict.fromkeys(REASONS, "str"), "position": "int64"})
