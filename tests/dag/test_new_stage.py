"""Adding a stage takes four files and a new metric two; everything else finds them."""

from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest

from flows.repository.pipeline import read_pipeline
from flows.runtime.tables import write_table
from flows.stages.report import tables_in
from schemas.tables.records import NOTES
from tasks.reporting.dag import stage_graph
from tests.support.clone import Clone

pytestmark = pytest.mark.dag

FORMULA = '''"""Length of the notes."""

import pandas as pd

from tasks.statistics.intervals import COUNT
from tasks.statistics.metric_rows import COMPUTED, mean_row, metric_table


def note_length(notes: pd.DataFrame, *, seed: int) -> pd.DataFrame:
    """Metric rows of the mean length of NOTES in characters."""
    lengths = notes["note"].str.len().to_numpy()
    rows = [mean_row("characters", lengths, bounds=COUNT, seed=seed)]
    return metric_table(rows, stage="note_length", system="notes", condition="normal", item="all", provenance=COMPUTED)
'''
FLOW = '''"""Stage `note_length`: the length of the notes."""

from flows.runtime.stage import Stage
from tasks.measures.note_length import note_length


async def run(stage: Stage) -> None:
    """Measure the notes that were kept."""
    stage.save_metrics("note_length", note_length(stage.load("notes"), seed=stage.params.seed))
'''
ENTRY = """  note_length:
    desc: Measure the length of the notes
    cmd: vignette stage note_length
    deps: [fingerprints/code/note_length.json, data/filter/notes.parquet]
    params: [seed]
    outs:
      - reports/tables/note_length.csv: {cache: false}

  report:
"""
CODE = "{fingerprints/code/report.json: *written}"
CAPTION = """note_length:
  group: Notes
  title: Length of the notes
  caption: Mean length of the notes.
  metrics:
    characters: mean number of characters
"""
TOUCHED = [
    "dvc.yaml",
    "flows/stages/note_length.py",
    "tasks/measures/note_length.py",
    "tasks/reporting/templates/captions.yaml",
]
TABLE = "reports/tables/note_length.csv"


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Clone]:
    """A clone with two notes and a stage that measures their length."""
    folder: Path = tmp_path_factory.mktemp("new_stage") / "vignette"
    clone = Clone(folder)
    (folder / "tasks" / "measures" / "note_length.py").write_text(FORMULA)
    (folder / "flows" / "stages" / "note_length.py").write_text(FLOW)
    change(folder / "dvc.yaml", "  report:\n", ENTRY)
    change(folder / "dvc.yaml", CODE, f"{CODE}, {CODE.replace('report', 'note_length')}")
    captions = folder / "tasks" / "reporting" / "templates" / "captions.yaml"
    captions.write_text(captions.read_text() + CAPTION)
    notes = pd.DataFrame({"record": [0, 1], "attempt": 0, "note": ["four", "sixsix"], "consistent": True})
    write_table(notes.assign(provenance="by hand"), folder / "data" / "filter" / "notes.parquet", NOTES)
    clone.vignette("stage", "code")
    clone.vignette("stage", "note_length")
    yield clone
    clone.vignette("server", "stop")


def change(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert text.count(old) == 1
    file.write_text(text.replace(old, new))


def changed_files(clone: Clone) -> list[str]:
    lines = clone.git("status", "--porcelain", "--untracked-files=all").splitlines()
    return sorted(line[3:] for line in lines if not line[3:].startswith((TABLE, "fingerprints/code/")))


def test_a_stage_takes_four_files_and_its_table_is_shown(clone: Clone) -> None:
    assert changed_files(clone) == TOUCHED
    tables, not_shown = tables_in(clone.folder / "reports" / "tables")
    (row,) = tables[clone.folder / TABLE].to_dict("records")
    assert (row["metric"], row["value"], row["n"]) == ("characters", 5.0, 2)
    assert not_shown == []
    graph = stage_graph(read_pipeline(clone.folder / "dvc.yaml"))
    assert graph.has_edge("filter", "note_length")
    assert graph.has_edge("note_length", "report")


def test_the_checks_of_the_repository_accept_it(clone: Clone) -> None:
    tests = ["tests/architecture/test_drift.py", "tests/architecture/test_params.py", "tests/reporting/test_page.py"]
    clone.run("pytest", "-q", "-n0", *tests)
    clone.run("ruff", "check", "-q", *TOUCHED[1:3])


def test_a_new_metric_takes_two_files(clone: Clone) -> None:
    clone.commit("stage")
    row = 'mean_row("characters", lengths, bounds=COUNT, seed=seed)'
    more = f'{row}, mean_row("lines", notes["note"].str.count("\\n") + 1, bounds=COUNT, seed=seed)'
    change(clone.folder / TOUCHED[2], row, more)
    described = "    characters: mean number of characters\n"
    change(clone.folder / TOUCHED[3], described, f"{described}    lines: mean number of lines\n")
    clone.vignette("stage", "note_length")
    assert changed_files(clone) == TOUCHED[2:]
    tables, _ = tables_in(clone.folder / "reports" / "tables")
    assert dict(tables[clone.folder / TABLE].set_index("metric")["value"]) == {"characters": 5.0, "lines": 1.0}
