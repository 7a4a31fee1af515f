"""From one record up, in both domains, every stage ends, and the report shows what was too small."""

import asyncio
import os
from collections.abc import Iterator
from contextlib import contextmanager
from graphlib import TopologicalSorter
from pathlib import Path

import pandas as pd
import pytest

from flows.repository.params import load_params
from flows.repository.pipeline import MAIN, needed_by, read_pipeline, stage_files, stage_function
from flows.runtime.chunks import ChunkWork, Frames, cut, join
from flows.runtime.stage import Stage
from schemas.errors import ParamsError
from schemas.params.learning import Neural
from schemas.params.llm import RoleName
from tasks.baselines.xgboost_tab import GRIDS, QUICK
from tasks.domains.in_use import in_domain
from tasks.domains.rules import rules_of
from tasks.llm.calls import Ask
from tests.support.imports import ROOT
from tests.support.scripted import DirectAsk

LEFT_OUT = ("probe@writer", "probe@annotator", "probe@judge", "probe@answerer", "code", "record")
"""Stages about endpoints, code and MLflow."""


class SmallStage(Stage):
    """A stage that asks the simulator in this process."""

    def ask(self, role: RoleName) -> Ask:
        return DirectAsk(self.params.roles[role].model)

    async def in_chunks(self, work: ChunkWork, frames: Frames, *, by: str = "record") -> Frames:
        chunks = cut(frames, by, self.params.runtime.chunk_rows)
        return join([await work(chunk, self.ask, self.params) for chunk in chunks])


@contextmanager
def like_the_root(folder: Path) -> Iterator[None]:
    """Make a folder like the repository's root, as the working directory."""
    for name in (".dvc", "tasks", "fingerprints", "returned", "evaluations", "dvc.yaml", "flows", "schemas"):
        (folder / name).symlink_to(ROOT / name)
    (folder / "pyproject.toml").symlink_to(ROOT / "pyproject.toml")
    (folder / "reports" / "tables").mkdir(parents=True)
    (folder / "reports" / "published").symlink_to(ROOT / "reports" / "published")
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def run_dag(domain: str, **sections: dict) -> None:
    """Run the stages of dvc.yaml in the working directory, with ``sections`` of params.yaml changed."""
    with in_domain(domain):
        params = load_params(ROOT / "params.yaml").model_copy(update={"domain": domain})
        changed = {name: getattr(params, name).model_copy(update=section) for name, section in sections.items()}
    params = params.model_copy(update=changed)
    with in_domain(domain):  # which reading the params changes for the whole process
        for name in TopologicalSorter(needed_by(read_pipeline(MAIN))).static_order():
            if name not in LEFT_OUT:
                asyncio.run(stage_function(name)(SmallStage(stage_files(MAIN, name), params)))


SECTIONS = {
    "network": {"draws": 20, "held_out": 100},
    "planted_errors": {"each": 2, "rounds": 2, "assertions": 2},
    "calibrate": {"rounds": 1},
    "summarise": {"patients": 2, "judged": 1, "doses": [0, 1]},
    "baselines": {"seeds": [0], "processes": 1, "draws": 100, "neural": Neural(hidden=16, least_rows=100)},
}
SYSTEMS = ("BN-tab", "XGBoost-tab", "neural-text", "neural-text-tab", "BN-text")


FAST = {(1, "respiratory"), (10, "respiratory"), (20, "respiratory"), (2, "urinary"), (10, "urinary"), (40, "urinary")}
"""The others are soak tests."""
CASES = [
    pytest.param(records, domain, marks=[] if (records, domain) in FAST else pytest.mark.soak)
    for domain in ("respiratory", "urinary")
    for records in (1, 2, 5, 10, 20, 40)
]


def few(patients: int) -> dict[str, object]:
    """Params of visits: a patient for every other record, none with many visits."""
    return {"patients": patients // 2, "most": 4, "long_visits": []}


@pytest.mark.filterwarnings("error:The least populated class:UserWarning")
@pytest.mark.parametrize(("records", "domain"), CASES)
def test_every_stage_ends_on_few_records(
    records: int, domain: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(GRIDS, "quick", {name: options[:1] for name, options in QUICK.items()})
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
