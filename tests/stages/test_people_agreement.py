"""Agreement of judges with people's verdicts: by hand, and replayed from the recorded replies."""

import asyncio
from collections.abc import Sequence
from functools import partial

import numpy as np
import pandas as pd
import pytest

from flows.stages.recorded_judge import CASSETTES
from schemas.tables.verdicts import verdict_table
from tasks.audit.people import OF_PEOPLE, PeopleSet, agreement_rows, judge_set, people_sets
from tasks.llm.recorded import RecordedAsk, read_recorded
from tasks.measures.measure import Metric
from tasks.statistics.metric_rows import Row
from tests.support.counts import check_counts
from tests.support.imports import ROOT
from tests.support.sources import needs_sources, sources_folder

VIEW = Metric(of="claim_recall")


def verdicts(judge: str, values: Sequence[float | None], texts: int = 6) -> pd.DataFrame:
    """A judge's verdicts on as many claims in each of some texts."""
    size = len(values) // texts
    about = {"system": "a", "item": "whole", "metric": "claim_recall", "condition": "c", "text": "", "judge": judge}
    rows = [{**about, "document": f"d{at // size}", "unit": str(at % size), "value": v} for at, v in enumerate(values)]
    return verdict_table(rows, judge=judge)


def rows_of(people: Sequence[pd.DataFrame], judge: pd.DataFrame) -> dict[tuple[str, str, str], Row]:
    rows = agreement_rows(pd.concat(people), {"strict": judge}, (VIEW, VIEW), "K")
    return {(row["system"], row["item"], row["metric"]): row for row in rows}


def test_agreement_with_each_of_the_people_and_with_their_majority() -> None:
    first, second, third = ([1.0, 1, 0, 0] * 6, [1.0, 0, 0, 0] * 6, [1.0, 1, 1, 0] * 6)
    people = [verdicts(name, values) for name, values in zip("xyz", (first, second, third), strict=True)]
    found = rows_of(people, verdicts("j", [1.0, 0, 0, None] * 6))
    one = found["j", "K, against majority", "kappa"]  # 1 0 0 against 1 1 0
    assert one["value"] == pytest.approx((2 / 3 - 4 / 9) / (1 - 4 / 9))
    assert (one["n"], one["unscored"]) == (18, 6)
    assert found["j", "K, against majority", "sensitivity"]["value"] == pytest.approx(0.5)
    assert found["j", "K, against majority", "specificity"]["unscored"] == 6
    assert found["j", "K, against y", "kappa"]["value"] == pytest.approx(1)
    assert found["x", "K, against y", "kappa"]["value"] == found["y", "K, against x", "kappa"]["value"]
    assert ("j", "K, against majority", "auc") not in found


def test_grades_have_an_area_and_those_that_are_lists_of_one_each_no_majority() -> None:
    random = np.random.default_rng(1)
    people = [verdicts(name, random.integers(0, 2, 24).astype(float)) for name in "xyz"]
    people = [own.assign(unit=own["judge"] + own["unit"]) for own in people]
    judge = pd.concat(people).assign(judge="j", value=lambda own: own["value"] / 2 + 0.25)
    judge.loc[judge["unit"].str.endswith("0"), "value"] = 0.5
    found = rows_of(people, judge)
    assert 0.5 < found["j", "K, against all", "auc"]["value"] < 1
    assert not any("majority" in item for _, item, _ in found)
    assert not any(system in "xyz" for system, _, _ in found)


def test_texts_that_both_judged_are_correlated() -> None:
    found = rows_of([verdicts("x", [0.0, 0, 0, 1, 1, 1] * 2)], verdicts("j", [0.0, 0, 0, 0, 1, 1] * 2))
    one = found["j", "K, against x", "pearson_of_texts"]
    assert one["value"] == pytest.approx(np.corrcoef([0, 0, 1, 0, 0, 1], [0, 0.5, 1, 0, 0.5, 1])[0, 1])
    assert one["n"] == 6


def test_missing_verdicts_are_counted_in_every_row() -> None:
    random = np.random.default_rng(1)
    people = pd.concat([verdicts(name, random.integers(0, 2, 24).astype(float)) for name in "xyz"])
    judge = verdicts("j", random.integers(0, 3, 24) / 2)
    check_counts(lambda own: agreement_rows(people, {"strict": own}, (VIEW, VIEW), "K"), judge, "value")
    none = judge.assign(value=judge["value"].mask(judge["document"] == "d1"))
    assert rows_of([people], none)["j", "K, against x", "pearson_of_texts"]["unscored"] == 1


@needs_sources
def test_recorded_replies_answer_every_request_about_people_s_units() -> None:
    ask = RecordedAsk("strong", read_recorded(ROOT / CASSETTES / "people.jsonl.gz"))
    kappas = {}
    for asked in people_sets(sources_folder()):
        found, unscored = asyncio.run(judge_set([ask], asked, 20))
        assert not unscored and set(OF_PEOPLE[asked.kind].readings) <= set(found)
        assert all(own["value"].notna().all() for own in found.values())
        kappas |= {(asked.kind, reading): kappa(asked, own) for reading, own in found.items()}
    assert kappas["claims", "clinician"] > 0.75 > 0.5 > kappas["claims", "strict"]
    assert kappas["statements", "clinician"] > kappas["statements", "strict"]
    assert kappas["facts", "note"] > kappas["facts", "differential"]
    assert kappas["facts", "another's list"] > 0.5


def kappa(asked: PeopleSet, judged: pd.DataFrame) -> float:
    """Of a judge's verdicts with the majority of people, with all, or with the only one who judged."""
    view = partial(agreement_rows, asked.verdicts, {"": judged})
    rows = view(next(iter(OF_PEOPLE[asked.kind].views.values())), "")
    found = {row["item"].rpartition("against ")[2]: row["value"] for row in rows if row["metric"] == "kappa"}
    return next(found[wanted] for wanted in ("majority", "all", "clinician") if wanted in found)
