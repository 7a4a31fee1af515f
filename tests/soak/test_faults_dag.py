"""With every fault at five percent at once the DAG ends, and each record is scored or listed with its reason."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import pytest
import yaml

from flows.estimate import asking_stages
from tasks.evaluation.doclens.note_texts import sample_records
from tasks.llm.embedded.faults import KINDS
from tests.support.clone import SMALL, Clone
from tests.support.endpoints import embedded, journal_lines

pytestmark = pytest.mark.soak

FAULTS = ",".join(f"{kind}=0.05" for kind in KINDS)
STEPS = {  # stage: table whose records are those that got through
    "write": "first_notes",
    "filter": "notes",
    "compact": "compact_notes",
}


@dataclass
class Faulty:
    """A clone in which the whole DAG ran against an endpoint that misbehaves."""

    clone: Clone
    journal: Path

    def table(self, stage: str, stem: str) -> pd.DataFrame:
        """An artefact of a stage."""
        return pd.read_parquet(self.clone.folder / "data" / stage / f"{stem}.parquet")

    def unscored(self, stage: str) -> pd.DataFrame:
        """What a stage lists as not scored."""
        return self.table(stage, f"unscored_{stage}")

    def listed(self, stage: str) -> set[int]:
        """Records that a stage lists as not scored."""
        return set(self.unscored(stage)["record"].astype(int))


@pytest.fixture(scope="module")
def faulty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Faulty]:
    folder = tmp_path_factory.mktemp("faults")
    (folder / "clone").mkdir()
    clone, journal = Clone(folder / "clone"), folder / "journal"
    with embedded("--journal", str(journal), "--faults", FAULTS, "--retry-after", "0.2", workers=2) as server:
        params = yaml.safe_load((clone.folder / "params.yaml").read_text())
        for role in params["roles"].values():
            role["base_url"] = server.base_url
        sending = {"timeout_s": 10.0, "backoff_s": 0.05}
        clone.set_params(
            roles=params["roles"],
            runtime__sending=dict.fromkeys(params["roles"], sending),
            runtime__max_unscored_share=0.5,
            **SMALL,
        )
        clone.run("flows.probe")
        clone.run("dvc", "repro", timeout=3000)
        clone.run("flows.server", "stop")
        yield Faulty(clone, journal)


def test_every_fault_came(faulty: Faulty) -> None:
    assert {outcome for _, outcome in journal_lines(faulty.journal)} == {"ok", *KINDS}


def test_each_record_has_a_note_or_a_reason(faulty: Faulty) -> None:
    expected = set(faulty.table("prompt", "prompts")["record"])
    for stage, stem in STEPS.items():
        got = set(faulty.table(stage, stem)["record"])
        nowhere = expected - got - faulty.listed(stage)
        assert not nowhere, f"{stage}: records {sorted(nowhere)} are nowhere"
        assert not got & faulty.listed(stage) or stage == "filter", f"{stage}: a record is both scored and listed"
        expected = got


@pytest.mark.parametrize("stage", ["doclens", "med_omit"])
def test_each_record_drawn_has_a_score_or_a_reason(faulty: Faulty, stage: str) -> None:
    compact = faulty.table("compact", "compact_notes")["record"]
    params = yaml.safe_load((faulty.clone.folder / "params.yaml").read_text())
    drawn = set(sample_records(compact, params[stage]["notes"], seed=params["seed"]))
    scores = faulty.table(stage, f"{stage}_scores")
    for metric, rows in scores[scores["system"] == "compact notes"].groupby("metric"):
        assert set(rows["record"]) <= drawn
        assert drawn - set(rows["record"]) <= faulty.listed(stage), f"{stage}, {metric}: records are nowhere"


def test_each_answer_and_each_verdict_is_there_or_has_a_reason(faulty: Faulty) -> None:
    unscored = faulty.unscored("note_qa")["step"]
    answers, planted = faulty.table("note_qa", "answers"), faulty.table("note_qa", "planted")
    questions, judgements = faulty.table("note_qa", "questions"), faulty.table("note_qa", "judgements")
    unanswered = unscored.str.startswith("note_qa/answer").sum()
    unjudged = unscored.str.startswith("note_qa/judge").sum()
    assert len(answers) + unanswered == len(questions) * answers[["version", "form"]].drop_duplicates().shape[0]
    assert len(judgements) + unjudged == (len(answers) + len(planted)) * SMALL["note_qa__judge_takes"]


def test_each_note_to_review_is_rated_or_has_a_reason(faulty: Faulty) -> None:
    to_rate = set(faulty.table("review", "review_notes")["record"])
    rated = set(faulty.table("review", "ratings")["record"])
    assert rated | faulty.listed("review") == to_rate


def test_every_unscored_row_says_why(faulty: Faulty) -> None:
    for stage in asking_stages(faulty.clone.folder / "dvc.yaml"):
        for file in (faulty.clone.folder / "data" / stage).glob("*unscored*.parquet"):
            rows = pd.read_parquet(file)
            print(f"\n{stage}: {rows['reason'].value_counts().to_dict()}")
            assert (rows["reason"].str.len() > 0).all() and (rows["step"].str.len() > 0).all()
