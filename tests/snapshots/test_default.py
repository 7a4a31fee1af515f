"""The main pipeline on 40 records gives the tables of its snapshots, and the same on the dataset that it exports."""

import shutil
from pathlib import Path
from typing import NamedTuple

import pandas as pd
import pytest

from schemas.errors import SourceError
from schemas.params.records import Published
from tasks.dataset.simsum import require_pinned
from tests.snapshots.small import KEPT, default_run
from tests.snapshots.tables import SHOWN, changed

pytestmark = pytest.mark.timeout(1200)


class Run(NamedTuple):
    """The folder of a run, and its tables."""

    folder: Path
    tables: dict[str, pd.DataFrame]

    def table(self, stem: str) -> pd.DataFrame:
        return self.tables[stem].set_index(KEYS).sort_index()

    def parquet(self, name: str) -> pd.DataFrame:
        return pd.read_parquet(self.folder / "data" / name)


KEYS = ["system", "condition", "item", "metric"]


@pytest.fixture(scope="module")
def default(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("default")
    return Run(folder, default_run(folder))


def test_every_table_is_as_in_its_snapshot(default: Run) -> None:
    differing = changed(KEPT / "default", default.tables)
    said = [line for lines in differing.values() for line in [*lines[:SHOWN], f"{len(lines)} differences"]]
    assert not said, "\n".join([*said, "if all of this is meant: python -m tests.snapshots default"])


SAME = ("calibration", "corrected", "doclens", "med_omit", "overlap")
"""Tables measured on the texts, whoever wrote them."""
FILES = {
    "notes": "SimSUM.csv",
    "normal_spans": "spans/normal_span_annotations.json",
    "compact_spans": "spans/adv_span_annotations.json",
}


@pytest.fixture(scope="module")
def published(default: Run, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run on the texts that the other one exported, in SimSUM's published layout, instead of the writer's."""
    folder = tmp_path_factory.mktemp("published")
    shutil.copytree(default.folder / "data" / "export" / "dataset", folder / "dataset")
    files = {name: str(folder / "dataset" / file) for name, file in FILES.items()}
    with pytest.raises(SourceError) as error:
        require_pinned(Published(**files))
    digest = str(error.value).split("digest is ")[1][:64]
    write = {"source": "published", "published": {**files, "sha256": digest}}
    (folder / "run").mkdir()
    return Run(folder / "run", default_run(folder / "run", ["export", "note_qa", "calibrate", "overlap"], write=write))


@pytest.mark.soak
def test_published_texts_and_spans_pass_through(published: Run) -> None:
    assert set(published.parquet("filter/notes.parquet")["provenance"]) == {"published"}
    assert set(published.parquet("span/spans.parquet")["matched"]) == {"published"}
    for file in FILES.values():
        exported = published.folder / "data" / "export" / "dataset" / file
        assert exported.read_bytes() == (published.folder.parent / "dataset" / file).read_bytes(), file


@pytest.mark.soak
@pytest.mark.parametrize("table", SAME)
def test_measurements_of_texts_do_not_depend_on_their_source(default: Run, published: Run, table: str) -> None:
    theirs, ours = published.tables[table], default.tables[table]
    if table == "corrected":  # rates from cases of another writer than the texts are marked as such
        assert theirs["provenance"].ne(ours["provenance"]).any()
        theirs, ours = theirs.drop(columns="provenance"), ours.drop(columns="provenance")
    pd.testing.assert_frame_equal(theirs, ours, check_exact=True)


@pytest.mark.soak
def test_questions_are_answered_from_published_notes(default: Run, published: Run) -> None:
    ours, theirs = default.table("note_qa"), published.table("note_qa")
    assert set(theirs.index) == set(ours.index)
    assert (theirs["n"] > 0).sum() == (ours["n"] > 0).sum()
