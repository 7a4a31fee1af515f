"""The main pipeline on 40 records gives the tables of its snapshots, and counts what fails where no model answers."""

import re
from pathlib import Path

import pandas as pd
import pytest

from flows.repository.pipeline import MAIN, model_stages, read_pipeline
from schemas.errors import UnscoredError
from schemas.params.llm import RoleName
from tasks.llm.calls import Ask
from tests.snapshots.small import DEFAULT, KEPT, default_run
from tests.snapshots.tables import SHOWN, changed
from tests.support.one_process import InProcess, run_stages
from tests.support.params import shipped
from tests.support.scripted import ScriptedAsk

pytestmark = pytest.mark.timeout(1200)


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, pd.DataFrame]]:
    """The folder of the run, and its tables."""
    folder = tmp_path_factory.mktemp("default")
    return folder, default_run(folder)


def test_every_table_is_as_in_its_snapshot(ran: tuple[Path, dict[str, pd.DataFrame]]) -> None:
    differing = changed(KEPT / "default", ran[1])
    said = [line for lines in differing.values() for line in [*lines[:SHOWN], f"{len(lines)} differences"]]
    assert not said, "\n".join([*said, "if all of this is meant: python -m tests.snapshots default"])


class Unanswered(InProcess):
    """A stage in process of whose calls none is answered."""

    def ask(self, role: RoleName) -> Ask:
        return ScriptedAsk(lambda _: ValueError("no reply"))


def test_without_a_model_among_the_raters_review_asks_none(
    ran: tuple[Path, dict[str, pd.DataFrame]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ran[0])
    params = shipped(**{**DEFAULT, "review": {**DEFAULT["review"], "model_rater": False}})
    run_stages(params, left_out={*read_pipeline(MAIN)} - {"review"}, kind=Unanswered)
    assert pd.read_parquet("data/review/unscored_review.parquet").empty


ASKING = [name for name in reversed(model_stages(MAIN)) if name != "own_metrics"]  # whose shipped metric asks nobody
"""From the last stage to the first, as an earlier one leaves the later ones, and other tests, without texts."""


@pytest.mark.parametrize("name", ASKING)
def test_no_stage_counts_more_failures_than_it_has_rows(
    ran: tuple[Path, dict[str, pd.DataFrame]], monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(ran[0])
    with pytest.raises(UnscoredError) as error:
        run_stages(shipped(**DEFAULT), left_out={*read_pipeline(MAIN)} - {name}, kind=Unanswered)
    said = re.search(r"(\d+) of (\d+) rows unscored", str(error.value))
    assert said is not None
    failed, rows = map(int, said.groups())
    assert 0 < failed <= rows
