"""Judges compared: on planted claims with their cost, and the simulator's rules with another model on its requests.

An error is a claim that is not entailed, and finding it is to judge it so. The rules answer the requests that another
model answered; agreement and kappa need no truth, the share of right verdicts is computed where truth is planted.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from schemas.params.llm import Price
from tasks.judges.rates import record_of, verdict_rows
from tasks.judges.span_agreement import THRESHOLDS, Counts, SymptomSpan, span_counts
from tasks.llm.costs import CountedAsk, Usage, cost
from tasks.measures.med_omit.replies import Omissions
from tasks.simulator.dispatch import complete
from tasks.simulator.judge.premise import facts, numbered
from tasks.simulator.request import ChatRequest
from tasks.statistics.agreement import kappa_interval
from tasks.statistics.metric_rows import NAN, Row, mean_row, metric_row, metric_table, ratio_row

COLUMNS = ("measure", "key", "model", "rules")
"""``key`` identifies the judged text; ``model`` and ``rules`` are the verdicts, True or False."""
SPANS = "extract symptom spans"
Verdicts = dict[str, bool]
Reader = Callable[[ChatRequest, str], Verdicts]


def paired_verdicts(replies: Iterable[Mapping[str, Any]], symptoms: Sequence[str]) -> pd.DataFrame:
    """A row with COLUMNS for each verdict of the model, with the rules' verdict on the same request.

    ``symptoms``: names of the domain's symptoms in prompts.
    ``replies`` are lines of `vignette store export`. Replies to tasks that judge nothing are left out, and replies that
    the pipeline could not use, since they have no verdict. Rows are sorted; repeated ones, such as several takes of an
    answer's verdict, are kept.
    """
    rows = []
    readers: dict[str, tuple[str, Reader]] = {**_READERS, SPANS: ("symptom in note", partial(_mentioned, symptoms))}
    for line in replies:
        text = line["reply"]["choices"][0]["message"]["content"]
        if line["task"] not in readers or not text:
            continue
        measure, read = readers[line["task"]]
        request = ChatRequest.from_body(line["request"])
        try:
            model = read(request, text)
        except (ValueError, KeyError, TypeError):  # the pipeline asked again; that reply is a line of its own
            continue
        rules = read(request, complete(request))
        rows += [(measure, key, verdict, rules[key]) for key, verdict in model.items() if key in rules]
    return pd.DataFrame(rows, columns=list(COLUMNS)).sort_values(list(COLUMNS), ignore_index=True)


def _flagged(tag: str, field: str, request: ChatRequest, reply: str) -> Verdicts:
    """Whether a check finds a departure in the text of ``tag``; ``field`` is true if there is none."""
    return {request.tag(tag): not json.loads(reply)[field]}


def _mentioned(symptoms: Sequence[str], request: ChatRequest, reply: str) -> Verdicts:
    """Whether a note mentions each symptom."""
    named = {span["symptom"] for span in json.loads(reply)["spans"]}
    return {f"{name}\n{request.tag('note')}": name in named for name in symptoms}


def _entailed(request: ChatRequest, reply: str) -> Verdicts:
    claims = dict(numbered(request.tag("claims")))
    verdicts = json.loads(reply)["verdicts"]
    return {f"{claims[one['claim']]}\n{request.tag('text')}": bool(one["entailed"]) for one in verdicts}


def _omitted(request: ChatRequest, reply: str) -> Verdicts:
    """Whether the summary omits each fact, wholly or in part."""
    listed = facts(request)
    verdicts = Omissions.model_validate_json(reply, context={"facts": listed}).facts
    return {listed[one.fact]: one.included != "yes" for one in verdicts}


def _right(request: ChatRequest, reply: str) -> Verdicts:
    answer = reply.strip().lower()
    if not answer.startswith(("yes", "no")):
        raise ValueError(reply)
    return {f"{request.tag('question')}\n{request.tag('output')}": answer.startswith("yes")}


_ASKED = re.compile(r'\[(full|compact)\] ([^:]+): ("(?:[^"\\]|\\.)*") in ')


def _present(request: ChatRequest, reply: str) -> Verdicts:
    """Whether each phrase asserts that its symptom is present."""
    asked = {number: _ASKED.match(phrase) for number, phrase in numbered(request.tag("phrases"))}
    verdicts = {}
    for one in json.loads(reply)["assertions"]:
        if (phrase := asked.get(one["number"])) is not None:
            note = request.tag("note" if phrase[1] == "full" else "compact")
            verdicts[_phrase_key(phrase[2], json.loads(phrase[3]), note)] = one["assertion"] == "present"
    return verdicts


def _phrase_key(symptom: str, phrase: str, note: str) -> str:
    return f"{symptom}: {phrase}\n{note}"


def span_agreement(replies: Iterable[Mapping[str, Any]]) -> list[Counts]:
    """Spans that the model and the rules mark alike in each note: same symptom, intersection over union at least 0.5.

    Notes are in alphabetic order, whatever that of the replies. A phrase is taken where it first occurs in the note;
    one that the note does not contain is no span.
    """
    asked = [(ChatRequest.from_body(line["request"]), line["reply"]) for line in replies if line["task"] == SPANS]
    counts = []
    for request, reply in sorted(asked, key=lambda pair: pair[0].tag("note")):
        note, text = request.tag("note"), reply["choices"][0]["message"]["content"]
        counts.append(span_counts(_spans(note, complete(request)), _spans(note, text), THRESHOLDS[0]))
    return counts


def _spans(note: str, reply: str) -> list[SymptomSpan]:
    found = ((one["symptom"], note.find(one["text"]), len(one["text"])) for one in json.loads(reply)["spans"])
    return [SymptomSpan(symptom, start, start + length) for symptom, start, length in found if start >= 0]


_READERS: dict[str, tuple[str, Reader]] = {
    "check a clinical note for consistency": ("consistency", partial(_flagged, "note", "consistent")),
    "compare a compact note with the note": ("compact version", partial(_flagged, "compact", "same")),
    "judge claims in json with reasons": ("claims", _entailed),
    "judge claims in json": ("claims", _entailed),
    "find omitted facts": ("omissions", _omitted),
    "judge an answer": ("answers", _right),
    "state what phrases assert": ("symptom present in a span", _present),
}


STAGE = "judges_compared"
RULES, MODEL = "rules", "model"


def known_truth(tables: Mapping[str, pd.DataFrame], labels: Mapping[str, str]) -> pd.DataFrame:
    """Planted truth by ``measure`` and ``key`` of the pairs: columns measure, key, truth.

    ``tables``: PLANTED_CASES as ``planted_cases``, ASSERTION_CASES as ``assertion_cases``, the planted answers and
    questions of note_qa as ``planted`` and ``questions``, and PLANTED as ``planted_claims``. ``labels``: the name in
    prompts by symptom. A key with two truths, such as a fact that one note states and another leaves out, is dropped.
    """
    cases, claims = tables["planted_cases"], tables["planted_claims"]
    asked = tables["planted"].merge(tables["questions"][["question", "wording"]], on="question")
    of_check = {check: cases[cases["check"] == check] for check in ("consistency", "compact")}
    omissions = claims[claims["step"] == "omissions"]
    phrases = tables["assertion_cases"]
    said = [_phrase_key(labels[row.symptom], row.text, row.note) for row in phrases.itertuples()]
    known = {
        "consistency": (of_check["consistency"]["note"], of_check["consistency"]["kind"] != "none"),
        "compact version": (of_check["compact"]["compact"], of_check["compact"]["kind"] != "none"),
        "omissions": (omissions["text"], omissions["truth"]),
        "answers": (asked["wording"] + "\n" + asked["output"], asked["right"]),
        "symptom present in a span": (said, phrases["truth"] == "present"),
    }
    parts = [pd.DataFrame({"measure": name, "key": key, "truth": truth}) for name, (key, truth) in known.items()]
    truth = pd.concat(parts).drop_duplicates()
    return truth[~truth.duplicated(["measure", "key"], keep=False)]


def claim_pairs(claims: pd.DataFrame, rules: str) -> pd.DataFrame:
    """Planted claims that both judged, with COLUMNS and truth; ``claims`` are PLANTED rows by ``provenance``."""
    case = ["document", "step", "kind", "text", "truth"]
    judged = claims[claims["judged"].notna()].drop_duplicates([*case, "provenance"])
    judges = [name for name in judged["provenance"].unique() if name != rules]
    judged = judged[judged["provenance"].isin([rules, *judges[:1]])]
    table = judged.pivot(index=case, columns="provenance", values="judged")
    both = table.dropna().rename(columns={rules: RULES, **dict.fromkeys(judges, MODEL)}).reset_index()
    both = both.astype({RULES: bool, MODEL: bool, "truth": bool})
    return both.assign(measure=PLANTED_CLAIMS, key=both["text"])[[*COLUMNS, "truth"]]


def compared_rows(
    pairs: pd.DataFrame, truth: pd.DataFrame, planted: pd.DataFrame, spans: Sequence[Counts], *, model: str, seed: int
) -> pd.DataFrame:
    """METRICS of the rules against ``model``.

    ``pairs`` are `paired_verdicts`, ``truth`` as of `known_truth`, ``planted`` as of `claim_pairs`. Agreement is the
    share of equal verdicts, with Cohen's kappa. Where truth is planted, each judge has the share of right verdicts.
    """
    known = pd.concat([pairs.merge(truth, on=["measure", "key"]), planted], ignore_index=True)
    rows: list[Row] = []
    for measure, part in pd.concat([pairs, planted[list(COLUMNS)]]).groupby("measure", sort=True):
        rows += [{**row, "system": f"{RULES}, {model}", "condition": measure} for row in _agreement(part, seed)]
    for measure, part in known.groupby("measure", sort=True):
        for judge, system in ((RULES, RULES), (MODEL, model)):
            right = (part[judge] == part["truth"]).to_numpy(dtype=float)
            rows.append(mean_row("right", right, seed=seed, system=system, condition=measure))
    sizes = [one.predicted + one.reference for one in spans]
    found = ratio_row("span_f1", [2 * one.hits for one in spans], sizes, n=len(spans), seed=seed)
    rows.append({**found, "system": f"{RULES}, {model}", "condition": "spans"})
    return metric_table(rows, stage=STAGE, item="all", provenance=f"rules and {model} on the same requests")


def _agreement(part: pd.DataFrame, seed: int) -> list[Row]:
    rules, model = part[RULES].to_numpy(dtype=bool), part[MODEL].to_numpy(dtype=bool)
    kappa = metric_row("kappa", *kappa_interval(rules, model), n=len(part), seed=seed)
    return [mean_row("agreement", np.equal(rules, model), seed=seed), kappa]


def compared_text(rows: pd.DataFrame) -> str:
    """The table for the terminal: a line a measure."""
    named = rows.assign(column=rows["metric"].where(rows["metric"] != "right", "right: " + rows["system"]))
    wide = named.pivot_table(index="condition", columns="column", values="value", aggfunc="first", sort=False)
    wide.insert(0, "n", named.groupby("condition", sort=False)["n"].max())
    wide.index.name = wide.columns.name = None
    return wide.to_string(float_format="%.3f", na_rep="-")


PLANTED_CLAIMS = "planted claims"
USAGE_COLUMNS = ("judge", "claims", "calls", "prompt_tokens", "completion_tokens")


def usage_row(judge: str, claims: int, counted: CountedAsk | None = None) -> dict[str, object]:
    """One judge's use in one chunk, with the columns USAGE_COLUMNS. A judge without calls costs nothing."""
    spent = (0, 0, 0) if counted is None else (counted.calls, counted.prompt_tokens, counted.completion_tokens)
    return dict(zip(USAGE_COLUMNS, (judge, claims, *spent), strict=True))


def judge_rows(
    cases: pd.DataFrame, usage: pd.DataFrame, prices: Mapping[str, Price | None], *, seed: int
) -> pd.DataFrame:
    """METRICS of each judge on planted claims: errors found by kind, and use per 1,000 claims.

    ``cases`` are PLANTED rows of step entailment; ``provenance`` names the judge. ``usage`` has USAGE_COLUMNS, a row
    for each judge and chunk. ``prices`` by judge: None leaves the dollars undefined.
    """
    tables = []
    for judge, part in cases.groupby("provenance", sort=True):
        claims = pd.DataFrame(
            {
                "check": PLANTED_CLAIMS,
                "kind": part["kind"].where(~part["truth"], "none"),
                "flagged": ~part["judged"].astype("boolean"),
                "cluster": record_of(part["document"]),
            }
        )
        tables.append(verdict_rows(claims, stage="calibrate", system=str(judge), seed=seed, provenance=str(judge)))
    totals = usage.groupby("judge", sort=True)[list(USAGE_COLUMNS[1:])].sum()
    for judge, (claims, calls, prompt, completion) in zip(totals.index, totals.to_numpy().tolist(), strict=True):
        spent, price = Usage(prompt, completion, estimated=True), prices.get(judge)
        dollars = 0.0 if not calls else NAN if price is None else cost(price, spent)
        used = {"calls": calls, "tokens": spent.tokens, "dollars": dollars}
        scale = 1000 / max(claims, 1)
        rows = [metric_row(f"{name}_per_1000_claims", value * scale, n=claims) for name, value in used.items()]
        about = {"stage": "calibrate", "system": judge, "seed": seed, "provenance": judge}
        tables.append(metric_table(rows, condition=PLANTED_CLAIMS, item="all", **about))
    return pd.concat(tables, ignore_index=True)


def judges_text(tables: Mapping[str, pd.DataFrame]) -> str:
    """The judges of several lineages (name -> judges.csv) for the terminal, a column a judge.

    A part for each condition, such as planted claims, then the errors found by kind. Each cell has the value, its 95%
    interval if there is one, and n.
    """
    shown = pd.concat([table.assign(lineage=name) for name, table in tables.items()], ignore_index=True)
    shown = shown[~((shown["metric"] == "labelled_items") & (shown["value"] == 0))]
    if len(tables) > 1:
        shown["system"] = shown["lineage"] + ": " + shown["system"]
    shown = shown.assign(cell=[_cell(row) for row in shown.itertuples()])
    overall = shown[shown["item"].eq("all") & shown["metric"].isin(_TITLES)]
    overall = overall.assign(title=pd.Categorical(overall["metric"].map(_TITLES), list(_TITLES.values())))
    parts = [_beside(str(name), part, "title") for name, part in overall.groupby("condition", sort=True)]
    kinds = shown[shown["item"].ne("all") & shown["metric"].eq("sensitivity")]
    return "\n\n".join([*parts, *([_beside("share of errors found, by kind", kinds, "item")] if len(kinds) else [])])


def _beside(title: str, rows: pd.DataFrame, label: str) -> str:
    wide = rows.pivot_table(index=label, columns="system", values="cell", aggfunc="first", observed=True)
    wide.index.name = wide.columns.name = None
    return f"{title}\n{wide.to_string(na_rep='-')}"


def _cell(row: Any) -> str:
    if not np.isfinite(row.value):
        return "-"
    value = f"{row.value:.0f}" if row.metric.startswith(_WHOLE) else f"{row.value:.3f}"
    interval = f" ({row.low:.3f} to {row.high:.3f})" if np.isfinite(row.low) else ""
    return f"{value}{interval}, n {row.n}"


_WHOLE = ("calls_", "tokens_", "labelled_items")
"""Metrics that are printed without decimals."""
_TITLES = {
    "sensitivity": "sensitivity",
    "specificity": "specificity",
    "precision_at_half": "precision at half",
    "precision": "precision",
    "prevalence": "prevalence",
    "calls_per_1000_claims": "calls per 1,000 claims",
    "tokens_per_1000_claims": "tokens per 1,000 claims",
    "dollars_per_1000_claims": "dollars per 1,000 claims",
    "labelled_items": "labels",
    "labelled_share": "true, labelled",
    "powered_share": "true, powered",
    "corrected_share": "true, corrected",
    "effective_labels": "labels, effective",
}
