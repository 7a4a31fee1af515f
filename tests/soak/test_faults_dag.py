"""With every fault at five percent the DAG ends, and each record is scored or listed with a reason."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import pytest
import yaml

from flows.repository.pipeline import model_stages
from tasks.statistics.bootstrap import sample_records
from tests.support.clone import SMALL, Clone
from tests.support.endpoints import journal_lines, simulator
from tests.support.faulty import KINDS
from tests.support.params import SAMPLED

pytestmark = pytest.mark.soak

FAULTS = ",".join(f"{kind}=0.05" for kind in KINDS)


@dataclass
class Faulty:
    """A clone in which the whole DAG ran with a faulty endpoint."""

    clone: Clone
    journal: Path

    def table(self, stage: str, stem: str) -> pd.DataFrame:
        return pd.read_parquet(self.clone.folder / "data" / stage / f"{stem}.parquet")

    def unscored(self, stage: str) -> pd.DataFrame:
        return self.table(stage, f"unscored_{stage}")

    def listed(self, stage: str) -> set[int]:
        """Records that a stage lists as not scored."""
        return set(self.unscored(stage)["record"].astype(int))


@pytest.fixture(scope="module")
def faulty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Faulty]:
    folder = tmp_path_factory.mktemp("faults")
    clone, journal = Clone(folder / "clone"), folder / "journal"
    with simulator("--journal", str(journal), "--faults", FAULTS, "--retry-after", "0.2") as server:
        roles = clone.roles_at(server.base_url)
        clone.set_params(
            roles=roles,
            runtime__sending={role: {"timeout_s": 10.0, "backoff_s": 0.05} for role in roles},
            runtime__max_unscored_share=0.5,
            **SMALL,
        )
        clone.vignette("probe")
        clone.run("dvc", "repro", timeout=3000)
        clone.vignette("server", "stop")
        yield Faulty(clone, journal)


def test_every_fault_came(faulty: Faulty) -> None:
    assert {outcome for _, outcome in journal_lines(faulty.journal)} == {"ok", *KINDS}


def test_each_record_has_a_note_and_a_compact_one_or_is_listed_by_the_stage_that_failed(faulty: Faulty) -> None:
    expected = set(faulty.table("prompt", "prompts")["record"])
    for stage, completed in (("write", "first_notes"), ("filter", "notes"), ("compact", "compact_notes")):
        got, listed = set(faulty.table(stage, completed)["record"]), faulty.listed(stage)
        assert expected <= got | listed, f"{stage}: records {sorted(expected - got - listed)} are nowhere"
        assert not got & listed or stage == "filter", f"{stage}: a record is both scored and listed"
        expected = got


@pytest.mark.parametrize("stage", SAMPLED)
def test_each_note_of_the_sample_has_each_score_or_is_listed(faulty: Faulty, stage: str) -> None:
    params = yaml.safe_load((faulty.clone.folder / "params.yaml").read_text())
    compact = faulty.table("compact", "compact_notes")["record"]
    drawn = set(sample_records(compact, params[stage]["notes"], seed=params["seed"]))
    scores = faulty.table(stage, f"{stage}_scores").query("system == 'compact notes'")
    assert len(scores) or drawn <= faulty.listed(stage), f"{stage}: no score, and records {sorted(drawn)} are nowhere"
    for metric, rows in scores.groupby("metric"):
        assert set(rows["record"]) <= drawn
        assert drawn - set(rows["record"]) <= faulty.listed(stage), f"{stage}, {metric}: records are nowhere"


def test_each_question_has_a_verdict_in_each_condition_and_each_failed_one_is_listed(faulty: Faulty) -> None:
    unscored, verdicts = faulty.unscored("note_qa")["step"], faulty.table("note_qa", "note_qa_judged")
    answers = verdicts[verdicts["system"] == "answerer"]
    asked = answers.groupby("condition")["document"].nunique()
    assert (asked == len(faulty.table("note_qa", "questions"))).all()
    failed = verdicts["value"].isna().groupby([verdicts["metric"], verdicts["unit"] == "lost"]).sum()
    of = {step: unscored.str.startswith(f"note_qa/{step}").sum() for step in ("answer", "judge", "letter")}
    choices = unscored.str.startswith("note_qa/answer/multiple_choice").sum()
    assert failed.get(("score", True), 0) == of["answer"] and failed.get(("score", False), 0) == of["judge"]
    assert failed.get(("accuracy", False), 0) == choices + of["letter"]


def test_each_note_to_review_is_rated_or_listed(faulty: Faulty) -> None:
    to_rate = set(faulty.table("review", "review_notes")["record"])
    assert set(faulty.table("review", "ratings")["document"].astype(int)) | faulty.listed("review") == to_rate


def test_each_listed_row_has_a_step_and_a_reason(faulty: Faulty) -> None:
    for stage in model_stages(faulty.clone.folder / "dvc.yaml"):
        for file in sorted((faulty.clone.folder / "data" / stage).glob("*unscored*.parquet")):
            rows = pd.read_parquet(file)
            print(f"\n{stage}: {rows['reason'].value_counts().to_dict()}")
            assert (rows["reason"].str.len() > 0).all() and (rows["step"].str.len() > 0).all()
