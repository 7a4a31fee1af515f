"""Cases whose truth is certain and which no look-up of words answers."""

import re

import numpy as np
import pandas as pd
import pytest

from flows.evaluation import audit
from flows.evaluation.audit import ERRORS, NO_RULE, Audit, make_audit, reasons, without_cases
from flows.repository.params import load_params
from tasks.measures.cases import CASES_OF
from tasks.measures.described import OF_OUTPUTS
from tests.support.params import shipped

SEED, CASES = 1, 150
CEILING = 0.75


@pytest.fixture(scope="module")
def plain() -> pd.DataFrame:
    """The claims of a card, without their variants."""
    cases = make_audit(None, load_params().model_copy(update={"seed": SEED}), cases=CASES, tasks=["claims"]).cases
    return cases[(cases["condition"] == "") & (cases["metric"] == "claims")]


def _words(text: str) -> set[str]:
    return set(re.findall(r"[a-z0-9]+", text.lower()))


def _balanced(truth: np.ndarray, judged: np.ndarray) -> float:
    return float((judged[truth].mean() + (~judged[~truth]).mean()) / 2)


def test_a_judge_that_looks_claims_up_in_the_text_is_found_out(plain: pd.DataFrame) -> None:
    truth = plain["truth"].to_numpy(bool)
    pairs = list(zip(plain["text"], plain["premise"], strict=True))
    substring = np.array([claim.lower().rstrip(".") in " ".join(text.lower().split()) for claim, text in pairs])
    shares = np.array([len(_words(claim) & _words(text)) / len(_words(claim)) for claim, text in pairs])
    assert 0.5 < _balanced(truth, substring) <= CEILING
    assert max(_balanced(truth, shares >= least) for least in np.unique(shares)) <= CEILING


def test_a_measure_that_asks_a_judge_and_has_no_cases_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    why = "as the records of these texts are not known"
    lacking = f"measure qa: no cases, {why}; the card says nothing of a judge's verdicts on it"
    for texts, prompts, task, said in (
        ({"1": "a note of the simulator"}, pd.DataFrame(), "claims", []),
        ({"a": "a text of the user"}, None, "claims", [lacking]),
        ({}, None, ERRORS, [NO_RULE]),
    ):
        assert reasons(Audit(texts, pd.DataFrame(), [task], 1, prompts), [shipped()]) == said
    monkeypatch.setattr(audit, "CASES_OF", {name: own for name, own in CASES_OF.items() if name != "grounding"})
    assert without_cases(records=True)[0].startswith("measure grounding: no cases, as it declares none;")
    assert {*CASES_OF} <= {one.name for one in OF_OUTPUTS}
