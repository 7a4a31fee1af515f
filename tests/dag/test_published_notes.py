"""With notes in SimSUM's published layout instead of the writer's, later stages run and give the same results.

The files are the export of the whole DAG, so records and texts are the same and measurements on them must be equal.
Stages with unchanged inputs are not run again.
"""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest
import yaml

from schemas.errors import SourceError
from schemas.params.records import Published
from tasks.dataset.simsum import require_pinned
from tests.support.clone import Clone

pytestmark = pytest.mark.dag

SAME = ("calibration", "corrected", "doclens", "med_omit", "overlap")
"""Tables measured on the texts, whoever wrote them."""
STAGES = ("export", "note_qa", "overlap", "calibrate", "baselines")
"""Stages that read texts in different ways; all before them run too."""
KEYS = ["system", "condition", "item", "metric"]


@pytest.fixture(scope="module")
def published(built: Clone, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Clone]:
    """A copy of the clone in which the whole DAG ran, run again on the dataset that it exported."""
    folder: Path = tmp_path_factory.mktemp("published")
    shutil.copytree(built.folder / "data" / "export" / "dataset", folder / "dataset")
    clone = built.copied_to(folder / "vignette")
    files = {
        "notes": str(folder / "dataset" / "SimSUM.csv"),
        "normal_spans": str(folder / "dataset" / "spans" / "normal_span_annotations.json"),
        "compact_spans": str(folder / "dataset" / "spans" / "adv_span_annotations.json"),
    }
    with pytest.raises(SourceError) as error:
        require_pinned(Published(**files))
    digest = str(error.value).split("digest is ")[1][:64]
    clone.set_params(write__source="published", write__published={**files, "sha256": digest})
    clone.vignette("repro", *STAGES)
    yield clone
    clone.vignette("server", "stop")


def test_texts_and_spans_pass_through(published: Clone) -> None:
    notes = pd.read_parquet(published.folder / "data" / "filter" / "notes.parquet")
    spans = pd.read_parquet(published.folder / "data" / "span" / "spans.parquet")
    assert set(notes["provenance"]) == {"published"}
    assert set(spans["matched"]) == {"published"}


@pytest.mark.parametrize("table", SAME)
def test_measurements_of_texts_do_not_depend_on_their_source(built: Clone, published: Clone, table: str) -> None:
    file = Path("reports") / "tables" / f"{table}.csv"
    theirs, ours = (pd.read_csv(clone.folder / file) for clone in (published, built))
    if table == "corrected":  # rates from cases of another writer than the texts are marked as such
        assert theirs["provenance"].ne(ours["provenance"]).any()
        theirs, ours = theirs.drop(columns="provenance"), ours.drop(columns="provenance")
    pd.testing.assert_frame_equal(theirs, ours, check_exact=True)


def test_predictors_run_on_published_notes(built: Clone, published: Clone) -> None:
    ours, theirs = (_table(clone, "baselines") for clone in (built, published))
    assert set(theirs.index) <= set(ours.index)
    left_out = {metric for *_, metric in set(ours.index) - set(theirs.index)}
    assert all(metric.startswith("share_right_") for metric in left_out)  # of later attempts, which do not exist here
    pd.testing.assert_series_equal(theirs["value"].sort_index(), ours.loc[theirs.index, "value"].sort_index())


def test_questions_are_answered_from_published_notes(built: Clone, published: Clone) -> None:
    ours, theirs = (_table(clone, "note_qa") for clone in (built, published))
    assert set(theirs.index) == set(ours.index)
    assert (theirs["n"] > 0).sum() == (ours["n"] > 0).sum()


def _table(clone: Clone, stem: str) -> pd.DataFrame:
    return pd.read_csv(clone.folder / "reports" / "tables" / f"{stem}.csv").set_index(KEYS)


def test_the_export_gives_the_published_files_back(published: Clone) -> None:
    exported = published.folder / "data" / "export" / "dataset"
    for name in ("SimSUM.csv", "spans/normal_span_annotations.json", "spans/adv_span_annotations.json"):
        assert (exported / name).read_bytes() == (published.folder.parent / "dataset" / name).read_bytes()
    source = yaml.safe_load((published.folder / "params.yaml").read_text())["write"]["source"]
    assert source == "published"
