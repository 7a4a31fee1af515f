"""The stages from sample to export: with the simulator, then on the files exported by that run."""

import asyncio
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from flows.repository.pipeline import stage_function
from flows.stages.span import span_chunk
from schemas.errors import SourceError
from schemas.params import Params
from schemas.params.records import Published
from tasks.dataset.simsum import require_pinned
from tasks.llm.calls import unscored_row, unscored_table
from tasks.spans.statistics import ASSERTION_STEP
from tests.support.memory_stage import MemoryStage
from tests.support.params import shipped

STAGES = ("sample", "prompt", "write", "filter", "compact", "span", "split", "visits", "visit_notes", "export")
OVER_TIME = ("visits", "visit_notes")
TABLES = ("records", "first_notes", "attempts", "notes", "compact_notes", "spans")


def params(**changes: dict[str, Any]) -> Params:
    """The project's parameters with few patients over time, and ``changes`` by section."""
    return shipped(**{"visits": {"patients": 2, "long_visits": []}} | changes)


def run(chosen: Params, folder: Path, stages: tuple[str, ...] = STAGES, **given: pd.DataFrame) -> MemoryStage:
    stage = MemoryStage(chosen, folder)
    stage.tables |= given
    for name in stages:
        asyncio.run(stage_function(name)(stage))
    return stage


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> MemoryStage:
    return run(params(sample={"records": 8}), tmp_path_factory.mktemp("written"))


def published_files(folder: Path) -> Published:
    given = Published(
        notes=str(folder / "SimSUM.csv"),
        normal_spans=str(folder / "spans" / "normal_span_annotations.json"),
        compact_spans=str(folder / "spans" / "adv_span_annotations.json"),
    )
    with pytest.raises(SourceError) as error:
        require_pinned(given)
    return given.model_copy(update={"sha256": str(error.value).split("digest is ")[1][:64]})


def test_notes_whose_spans_failed_are_unscored_and_not_notes_without_spans(
    written: MemoryStage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Of one record extraction fails, of another a phrase is not found in the compact note."""
    first, second, *_ = written.tables["compact_notes"]["record"].tolist()

    async def some_fail(*given: Any) -> dict[str, pd.DataFrame]:
        done = await span_chunk(*given)
        failed = [unscored_row(first, "extract", "no reply", ""), unscored_row(second, "compact", "nowhere", "")]
        kept = done["spans"][done["spans"]["record"] != first]
        return {"spans": kept, "unscored": unscored_table(failed)}

    monkeypatch.setattr("flows.stages.span.span_chunk", some_fail)
    inputs = {name: written.tables[name] for name in ("records", "prompts", "attempts", "notes", "compact_notes")}
    found = run(written.params, tmp_path, ("span",), **inputs).tables["span_statistics"]
    rows = found[found["item"] == "all"].set_index(["condition", "metric"])[["n", "unscored"]]
    notes, compact = len(written.tables["notes"]), len(written.tables["compact_notes"])
    for metric in ("spans_per_note", "share_of_notes_without_spans"):
        assert rows.loc[("normal", metric)].tolist() == [notes - 1, 1]
        assert rows.loc[("compact", metric)].tolist() == [compact - 2, 2]
    groups = rows.loc[[("kept_first", "spans_per_note"), ("kept_regenerated", "spans_per_note")]]
    assert groups["unscored"].sum() == 1 and groups.to_numpy().sum() == notes


def test_chunk_size_does_not_change_the_outputs(written: MemoryStage, tmp_path: Path):
    cut = run(params(sample={"records": 8}, runtime={"chunk_rows": 3}), tmp_path)
    for name in (*TABLES, "prompts", "filtering", "span_statistics"):
        pd.testing.assert_frame_equal(cut.tables[name], written.tables[name])
    for file in sorted(path for path in (tmp_path / "dataset").rglob("*") if path.is_file()):
        assert file.read_bytes() == (written.folder / "dataset" / file.relative_to(tmp_path / "dataset")).read_bytes()


def test_published_texts_and_spans_pass_through_unasked(written: MemoryStage, tmp_path: Path):
    files = published_files(written.folder / "dataset")
    stages = tuple(name for name in STAGES if name not in OVER_TIME)
    over_time = {stem: written.tables[stem] for stem in OVER_TIME}
    read = run(params(write={"source": "published", "published": files}), tmp_path, stages, **over_time)
    assert read.asked == []
    pd.testing.assert_frame_equal(read.tables["records"], written.tables["records"], check_dtype=False)
    for name, column in (("notes", "note"), ("compact_notes", "compact")):
        assert read.tables[name][column].tolist() == written.tables[name][column].tolist()
        assert set(read.tables[name]["provenance"]) == {"published"}
    assert read.tables["notes"]["consistent"].all()  # else note_qa would leave them all out
    assert read.tables["attempts"]["consistent"].isna().all() and set(read.tables["attempts"]["attempt"]) == {0}
    columns = ["record", "version", "symptom", "start", "end", "text", "section"]
    pd.testing.assert_frame_equal(read.tables["spans"][columns], written.tables["spans"][columns], check_dtype=False)
    assert set(read.tables["spans"]["matched"]) == {"published"}
    assert "published" in set(read.tables["span_statistics"]["provenance"])
    assert read.tables["filtering"].set_index(["item", "metric"]).loc[("all", "flagged_first"), "n"] == 0
    again = (tmp_path / "dataset" / "SimSUM.csv").read_bytes()
    assert again == (written.folder / "dataset" / "SimSUM.csv").read_bytes()


def test_of_the_notes_whose_spans_failed_people_see_those_that_lack_an_assertion_alone(
    written: MemoryStage, tmp_path: Path
):
    first, second, *_ = written.tables["compact_notes"]["record"].astype(str)
    failed = [unscored_row(first, "span/normal", "no reply", ""), unscored_row(second, ASSERTION_STEP, "no reply", "")]
    tables = written.tables | {"unscored_span": unscored_table(failed)}
    form = run(params(span_review={"notes": 100}), tmp_path, ("span_review",), **tables)
    shown = form.tables["span_review_notes"]["record"].astype(str)
    assert set(shown) == set(written.tables["compact_notes"]["record"].astype(str)) - {first}
