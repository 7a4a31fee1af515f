"""The rules compared with another model on the same requests: agreement, kappa, and both against planted truth."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from tasks.evaluation.annotator.quality import Counts, f1
from tasks.evaluation.simulator_quality.paired_verdicts import COLUMNS
from tasks.statistics.agreement import cohen_kappa
from tasks.statistics.bootstrap import interval
from tasks.statistics.metric_rows import Row, mean_row, metric_row, metric_table

STAGE = "judges_compared"
RULES, MODEL = "rules", "model"


def known_truth(tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Planted truth by ``measure`` and ``key`` of the pairs: columns measure, key, truth.

    ``tables``: PLANTED_CASES as ``planted_cases``, the planted answers and questions of note_qa as ``planted`` and
    ``questions``, and PLANTED as ``planted_claims``. A key with two truths, such as a fact that one note states and
    another leaves out, is dropped.
    """
    cases = tables["planted_cases"]
    columns = {"consistency": "note", "compact": "compact"}
    parts = [
        pd.DataFrame({"measure": measure, "key": part[columns[check]], "truth": part["kind"] != "none"})
        for (check, measure) in (("consistency", "consistency"), ("compact", "compact version"))
        for part in [cases[cases["check"] == check]]
    ]
    claims = tables["planted_claims"]
    omissions = claims[claims["step"] == "omissions"]
    parts.append(pd.DataFrame({"measure": "omissions", "key": omissions["text"], "truth": omissions["truth"]}))
    answers = tables["planted"].merge(tables["questions"][["question", "wording"]], on="question")
    keys = answers["wording"] + "\n" + answers["output"]
    parts.append(pd.DataFrame({"measure": "answers", "key": keys, "truth": answers["right"]}))
    truth = pd.concat(parts).drop_duplicates()
    return truth[~truth.duplicated(["measure", "key"], keep=False)]


def claim_pairs(claims: pd.DataFrame, rules: str) -> pd.DataFrame:
    """Planted claims that both judged, with COLUMNS and truth; ``claims`` are PLANTED rows by ``provenance``."""
    case = ["document", "step", "kind", "text", "truth"]
    judged = claims[claims["judged"].notna()].drop_duplicates([*case, "provenance"])
    judges = [name for name in judged["provenance"].unique() if name != rules]
    table = judged[judged["provenance"].isin([rules, *judges[:1]])].pivot(
        index=case, columns="provenance", values="judged"
    )
    both = table.dropna().rename(columns={rules: RULES, **dict.fromkeys(judges, MODEL)}).reset_index()
    both = both.astype({RULES: bool, MODEL: bool, "truth": bool})
    return both.assign(measure="planted claims", key=both["text"])[[*COLUMNS, "truth"]]


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
    low, high = interval(lambda drawn: f1([spans[at] for at in drawn]), len(spans), seed=seed)
    found = metric_row("span_f1", f1(spans), low, high, n=len(spans), seed=seed)
    rows.append({**found, "system": f"{RULES}, {model}", "condition": "spans"})
    return metric_table(rows, stage=STAGE, item="all", provenance=f"rules and {model} on the same requests")


def _agreement(part: pd.DataFrame, seed: int) -> list[Row]:
    rules, model = part[RULES].to_numpy(dtype=bool), part[MODEL].to_numpy(dtype=bool)
    low, high = interval(lambda drawn: cohen_kappa(rules[drawn], model[drawn]), len(part), seed=seed)
    kappa = metric_row("kappa", cohen_kappa(rules, model), low, high, n=len(part), seed=seed)
    return [mean_row("agreement", np.equal(rules, model), seed=seed), kappa]


def compared_text(rows: pd.DataFrame) -> str:
    """The table for the terminal: a line a measure."""
    named = rows.assign(column=rows["metric"].where(rows["metric"] != "right", "right: " + rows["system"]))
    wide = named.pivot_table(index="condition", columns="column", values="value", aggfunc="first", sort=False)
    wide.insert(0, "n", named.groupby("condition", sort=False)["n"].max())
    wide.index.name = wide.columns.name = None
    return wide.to_string(float_format="%.3f", na_rep="-")
