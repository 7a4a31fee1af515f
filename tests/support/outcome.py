"""The outcome of each record, question and rating of a DAG run in a clone: scored, or listed with a reason."""

from dataclasses import dataclass

import pandas as pd
import yaml

from flows.repository.pipeline import model_stages
from tasks.statistics.bootstrap import sample_records
from tests.support.clone import Clone

STEPS = {  # stage: table of the records that it completed
    "write": "first_notes",
    "filter": "notes",
    "compact": "compact_notes",
}


@dataclass
class Outcome:
    """Tables of a clone in which the DAG ran."""

    clone: Clone

    @property
    def params(self) -> dict:  # type: ignore[type-arg]
        """The params of the run."""
        return dict(yaml.safe_load((self.clone.folder / "params.yaml").read_text()))

    def table(self, stage: str, stem: str) -> pd.DataFrame:
        """An artefact of a stage."""
        return pd.read_parquet(self.clone.folder / "data" / stage / f"{stem}.parquet")

    def unscored(self, stage: str) -> pd.DataFrame:
        """The unscored rows of a stage."""
        return self.table(stage, f"unscored_{stage}")

    def listed(self, stage: str) -> set[int]:
        """Records that a stage lists as not scored."""
        return set(self.unscored(stage)["record"].astype(int))

    def check_notes(self) -> None:
        """Each record has a note and a compact note, or is listed by the stage that failed."""
        expected = set(self.table("prompt", "prompts")["record"])
        for stage, stem in STEPS.items():
            got = set(self.table(stage, stem)["record"])
            nowhere = expected - got - self.listed(stage)
            assert not nowhere, f"{stage}: records {sorted(nowhere)} are nowhere"
            assert not got & self.listed(stage) or stage == "filter", f"{stage}: a record is both scored and listed"
            expected = got

    def check_scores(self, stage: str) -> None:
        """Each note of the sample that a stage judges has each score, or is listed."""
        compact = self.table("compact", "compact_notes")["record"]
        drawn = set(sample_records(compact, self.params[stage]["notes"], seed=self.params["seed"]))
        scores = self.table(stage, f"{stage}_scores")
        ours = scores[scores["system"] == "compact notes"]
        assert len(ours) or drawn <= self.listed(stage), f"{stage}: no score, and records {sorted(drawn)} are nowhere"
        for metric, rows in ours.groupby("metric"):
            assert set(rows["record"]) <= drawn
            assert drawn - set(rows["record"]) <= self.listed(stage), f"{stage}, {metric}: records are nowhere"

    def check_questions(self) -> None:
        """Each question has a verdict in each condition, and each failed one is listed."""
        unscored, verdicts = self.unscored("note_qa")["step"], self.table("note_qa", "note_qa_judged")
        answers = verdicts[verdicts["system"] == "answerer"]
        asked = answers.groupby("condition")["document"].nunique()
        assert (asked == len(self.table("note_qa", "questions"))).all()
        failed = verdicts["value"].isna().groupby([verdicts["metric"], verdicts["unit"] == "lost"]).sum()
        of = {step: unscored.str.startswith(f"note_qa/{step}").sum() for step in ("answer", "judge", "letter")}
        choices = unscored.str.startswith("note_qa/answer/multiple_choice").sum()
        assert failed.get(("score", True), 0) == of["answer"] and failed.get(("score", False), 0) == of["judge"]
        assert failed.get(("accuracy", False), 0) == choices + of["letter"]

    def check_ratings(self) -> None:
        """Each note that the model reviews is rated, or is listed; those for people's practice are not its."""
        drawn = self.table("review", "review_notes")
        to_rate = set(drawn.loc[~drawn["practice"], "record"])
        assert set(self.table("review", "ratings")["document"].astype(int)) | self.listed("review") == to_rate

    def check_reasons(self) -> None:
        """Each listed row has a step and a reason; prints their counts."""
        for stage in model_stages(self.clone.folder / "dvc.yaml"):
            for file in sorted((self.clone.folder / "data" / stage).glob("*unscored*.parquet")):
                rows = pd.read_parquet(file)
                print(f"\n{stage}: {rows['reason'].value_counts().to_dict()}")
                assert (rows["reason"].str.len() > 0).all() and (rows["step"].str.len() > 0).all()
