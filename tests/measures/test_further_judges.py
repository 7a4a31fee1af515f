"""Stage `further_judges`: other judges of the claims and facts that doclens and med_omit listed."""

import asyncio
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from flows.commands.probe import probe_roles
from flows.evaluation.audit import prompts_of, written
from flows.repository.params import load_params
from flows.repository.pipeline import stage_files
from flows.runtime.costs import Line, by_further_judges
from flows.runtime.stage import Stage
from flows.stages import doclens, further_judges, med_omit
from schemas.errors import IdentityError
from schemas.tables.columns import typed
from schemas.tables.evaluation import FACTS, OMITTED
from schemas.tables.metrics import METRICS
from tasks.llm.costs import Estimate
from tasks.measures.med_omit.metrics import SYSTEM
from tasks.measures.panel import LISTS, NOT_LISTED
from tasks.statistics.panels import PANEL
from tasks.texts.document import Document, documents_table
from tests.measures.test_panel import Judge
from tests.support.imports import ROOT
from tests.support.memory_stage import MemoryStage
from tests.support.params import shipped
from tests.support.scripted import DirectAsk

MODEL = "m@http://127.0.0.1:9/v1"
KEY = ["system", "item", "metric"]


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> MemoryStage:
    """Three simulated notes with compact versions, and what the role's judge listed and judged."""
    params = load_params(ROOT / "params.yaml")
    stage = MemoryStage(params, tmp_path_factory.mktemp("stage"))
    prompts = prompts_of(params, 3)
    notes = dict(enumerate(written(prompts, params).values()))
    by_hand = {"provenance": "by hand"}
    stage.tables["prompts"] = prompts
    stage.tables["notes"] = pd.DataFrame(
        [{"record": n, "attempt": 0, "note": text, "consistent": True, **by_hand} for n, text in notes.items()]
    )
    compact = [{"record": n, "compact": ". ".join(text.split(". ")[:3]) + ".", **by_hand} for n, text in notes.items()]
    stage.tables["compact_notes"] = pd.DataFrame(compact)
    asyncio.run(doclens.run_doclens(stage))  # type: ignore[arg-type]
    documents = [Document(str(n), (notes[n],), outputs={SYSTEM: row["compact"]}) for n, row in enumerate(compact)]
    chunk = {"documents": documents_table(documents)}
    made = asyncio.run(med_omit.judge_compact(chunk, lambda _: DirectAsk(), params))
    stage.tables |= {"facts": typed(made["facts"], FACTS), "omitted": typed(made["omitted"], OMITTED)}
    return stage


def judged_by(stage: MemoryStage, **judges: Judge) -> MemoryStage:
    """The stage with these judges, in chunks of one record."""
    params = shipped(judges={name: f"{name}-{MODEL}" for name in judges}, runtime={"chunk_rows": 1})
    run = MemoryStage(params, stage.folder)
    run.tables, run.judges = dict(stage.tables), dict(judges)
    asyncio.run(further_judges.run(run))  # type: ignore[arg-type]
    return run


def figures(table: pd.DataFrame, judge: str) -> pd.DataFrame:
    return table[table["condition"] == judge].set_index(KEY)[["value", "low", "high", "n", "unscored"]].sort_index()


def test_without_further_judges_the_tables_are_empty_and_typed(stage: MemoryStage) -> None:
    made = judged_by(stage).tables
    for stem in further_judges.TABLES:
        assert METRICS.validate(made[stem]).empty
    assert made["verdicts_by_judge"].empty and made["unscored_further_judges"].empty


def test_judges_that_agree_have_the_figures_of_the_first_on_the_claims_that_it_listed(stage: MemoryStage) -> None:
    same = Judge("same")
    made = judged_by(stage, same=same).tables
    assert same.calls and not [call for call in same.calls if call.reply in LISTS]
    own = stage.tables["doclens"].set_index(KEY)[["value", "low", "high", "n", "unscored"]].sort_index()
    for judge in ("judge", "same", PANEL):
        pd.testing.assert_frame_equal(figures(made["doclens_by_judge"], judge), own)
    assert len(figures(made["med_omit_by_judge"], PANEL)) >= 3
    agreement = made["judge_agreement"].set_index(["system", "condition", "item", "metric"])["value"]
    assert agreement["judge", "against same", "claim_recall", "kappa"] == 1
    assert agreement["judge", "against same", "omission_share", "yes_difference"] == 0


def test_a_judge_that_errs_and_one_that_fails_are_told_apart(stage: MemoryStage) -> None:
    made = judged_by(stage, errs=Judge("errs", errs=["0"]), fails=Judge("fails", fails=["1"])).tables
    verdicts = made["verdicts_by_judge"]
    lost = verdicts[verdicts["judged"].isna()]
    assert set(lost["judge"]) == {"fails"} and set(lost["document"]) == {"1"}
    unscored = made["unscored_further_judges"]
    assert len(unscored) and unscored["step"].str.endswith(", judge fails").all()
    assert not unscored["reason"].str.contains(NOT_LISTED).any()
    wide = made["judge_agreement"].set_index(["system", "condition", "item", "metric"])
    assert wide.loc[("judge", "against fails", "claim_recall", "kappa"), "value"] == 1
    assert wide.loc[("judge", "against fails", "claim_recall", "yes_difference"), "unscored"] > 0
    assert wide.loc[("judge", "against errs", "claim_recall", "kappa"), "value"] < 1
    true, panel = (figures(made["doclens_by_judge"], name) for name in ("judge", PANEL))
    pd.testing.assert_frame_equal(panel, true)  # no two judges err on the same note


def test_a_further_judge_has_a_fingerprint_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    params = shipped(judges={"a": {"base_url": "simulator", "model": "vignette-annotator"}})
    probed = probe_roles(params, ["judge"], tmp_path / "fingerprints")
    assert [one.role for one in probed] == ["judge"]
    assert (tmp_path / "fingerprints" / "judges" / "a" / "judge.json").is_file()
    monkeypatch.chdir(tmp_path)
    stage = Stage(stage_files(ROOT / "dvc.yaml", "further_judges"), params)
    assert stage.judged_by("a") is stage.judged_by("a")
    assert stage.judged_by("a").ask("judge").label != stage.ask("judge").label
    (tmp_path / "fingerprints" / "judges" / "a" / "judge.json").unlink()
    with pytest.raises(IdentityError, match="vignette probe"):
        Stage(stage.files, params).judged_by("a").ask("judge")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"judge": MODEL}, "not judge"),
        ({"a b": MODEL}, "letters, digits"),
        ({"a": "model"}, "expected MODEL@URL"),
        ({"a": MODEL, "b": MODEL}, "judges.b is the same model as judges.a"),
        ({"a": {"base_url": "simulator", "model": "vignette-judge"}}, "the same model as roles.judge"),
    ],
)
def test_judges_that_collide_are_refused(given: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        shipped(judges=given)


def test_each_further_judge_is_estimated_at_most_as_the_stages_that_list() -> None:
    params = shipped(judges={"a": MODEL}, prices={"m": {"prompt": 1.0, "completion": 1.0}})
    counted = Estimate("judge", 10, 1_000_000, 0)
    own = [Line(stage, counted, 0.0, "counted", 10, 30, "vignette-judge", True) for stage in ("doclens", "med_omit")]
    (line,) = by_further_judges(
        params, [*own, Line("note_qa", counted, 0.0, "counted", 10, 30, "vignette-judge", True)]
    )
    assert (line.estimate.calls, line.dollars, line.model) == (20, 2.0, "m")
    assert by_further_judges(load_params(ROOT / "params.yaml"), own) == []
