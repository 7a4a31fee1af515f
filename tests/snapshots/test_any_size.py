"""From one record up, in both domains, every stage ends, and the report shows what was too small."""

from pathlib import Path

import pandas as pd
import pytest

from flows.repository.params import load_params
from schemas.errors import ParamsError
from schemas.params.learning import Neural, XgboostTab
from tasks.domains.in_use import in_domain
from tasks.domains.rules import rules_of
from tests.support.imports import ROOT
from tests.support.one_process import like_the_root, run_stages


def run_dag(domain: str, **sections: dict) -> None:
    """Run the stages of dvc.yaml in the working directory, with ``sections`` of params.yaml changed."""
    with in_domain(domain):
        params = load_params(ROOT / "params.yaml").model_copy(update={"domain": domain})
        changed = {name: getattr(params, name).model_copy(update=section) for name, section in sections.items()}
    run_stages(params.model_copy(update=changed))


SECTIONS = {
    "network": {"draws": 20, "held_out": 100},
    "planted_errors": {"each": 2, "rounds": 2, "assertions": 2},
    "calibrate": {"rounds": 1},
    "summarise": {"patients": 2, "judged": 1, "doses": [0, 1]},
    "baselines": {
        "seeds": [0],
        "processes": 1,
        "draws": 100,
        "xgboost": XgboostTab(grid="first"),
        "neural": Neural(hidden=16, least_rows=100),
    },
}
SYSTEMS = ("BN-tab", "XGBoost-tab", "neural-text", "neural-text-tab", "BN-text")


FEWEST = (1, "respiratory")
"""The others are soak tests; test_default.py has 40 records, and tests/cassettes the other domain."""
CASES = [
    pytest.param(records, domain, marks=pytest.mark.dag if (records, domain) == FEWEST else pytest.mark.soak)
    for domain in ("respiratory", "urinary")
    for records in (1, 2, 5, 10, 20, 40)
]


def few(patients: int) -> dict[str, object]:
    """Params of visits: a patient for every other record, none with many visits."""
    return {"patients": patients // 2, "most": 4, "long_visits": []}


@pytest.mark.filterwarnings("error:The least populated class:UserWarning")
@pytest.mark.parametrize(("records", "domain"), CASES)
def test_every_stage_ends_on_few_records(records: int, domain: str, tmp_path: Path) -> None:
    with like_the_root(tmp_path):
        run_dag(domain, sample={"records": records}, visits=few(records), **SECTIONS)
        scores = pd.read_csv("reports/tables/baselines.csv")
        unscored = pd.read_parquet("data/baselines/unscored_baselines.parquet")
        page = Path("data/report/index.html").read_text(encoding="utf-8")
    for system in SYSTEMS:
        of_system = scores[scores["system"] == system]
        fitted = set(of_system.loc[of_system["metric"] == "f1", "item"])
        too_small = set(of_system.loc[of_system["metric"] == "not_fitted", "item"])
        assert fitted | too_small == set(rules_of(domain).symptoms) and not fitted & too_small, system
        assert {f"{system}: {name}" for name in too_small} <= set(unscored["detail"].dropna())
    if records == 1:
        assert "1 train records and 0 test records; needs 1 and 1" in page
    if records > 1:
        assert not (scores["system"].eq("BN-tab") & scores["metric"].eq("not_fitted")).any()


def test_no_records_are_an_error_that_says_what_is_expected(tmp_path: Path) -> None:
    file = tmp_path / "params.yaml"
    file.write_text((ROOT / "params.yaml").read_text().replace("sample: {records: 1000}", "sample: {records: 0}"))
    with pytest.raises(ParamsError, match=r"params.yaml: sample.records is 0; expected a number greater than 0"):
        load_params(file)
