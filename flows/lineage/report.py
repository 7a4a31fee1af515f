"""The report as it is read: the pages that stage `report` makes, with the lineage and the commit that each belongs to.

The pages themselves depend on their inputs only, so that equal inputs give equal bytes; the commit is known afterwards.
"""

from pathlib import Path

from flows.lineage.lineage import current_lineage
from flows.lineage.origin import citation, code_rows, commit
from flows.repository.git import git
from flows.repository.pipeline import MAIN, PUBLISHED
from tasks.reporting.display import origin

MADE, SHOWN = Path("data/report/index.html"), Path("reports/index.html")
PAPERS = "papers.html"
"""The second page, beside the first: its lineage is that of the second pipeline."""
PLACE = "<!-- lineage -->"
"""Where a page made by stage `report` has room for the lineage."""
_INPUTS = ("flows", "tasks", "schemas", "dvc.yaml", "params.yaml", "fingerprints")


def write_report(folder: Path = Path()) -> Path | None:
    """Write the report of a working tree with its lineage; None where stage `report` has not run."""
    if not (folder / MADE).exists():
        return None
    _write(folder, MADE, SHOWN, MAIN)
    if (folder / MADE).with_name(PAPERS).exists():
        _write(folder, MADE.with_name(PAPERS), SHOWN.with_name(PAPERS), PUBLISHED)
    return folder / SHOWN


def _write(folder: Path, made: Path, shown: Path, pipeline: Path) -> None:
    rows = {"lineage": current_lineage(folder, pipeline).id, **code_rows(commit(folder, *_INPUTS))}
    if pipeline == PUBLISHED and (date := git("log", "-1", "--format=%cs", "--", str(PUBLISHED.parent), folder=folder)):
        rows["date of the results"] = date.decode().strip()
    found = origin(rows, citation(rows, folder))
    partial = folder / shown.with_name(f".{shown.name}.partial")
    partial.write_text((folder / made).read_text(encoding="utf-8").replace(PLACE, found, 1), encoding="utf-8")
    partial.replace(folder / shown)
