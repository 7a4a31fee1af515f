"""The report as it is read: the page that stage `report` makes, with the lineage and the commit that it belongs to.

The page itself depends on its inputs only, so that equal inputs give equal bytes; the commit is known afterwards.
"""

from pathlib import Path

from flows.lineage.lineage import current_lineage
from flows.lineage.origin import citation, code_rows, commit
from tasks.reporting.display import origin

MADE, SHOWN = Path("data/report/index.html"), Path("reports/index.html")
PLACE = "<!-- lineage -->"
"""Where a page made by stage `report` has room for the lineage."""
_INPUTS = ("flows", "tasks", "schemas", "dvc.yaml", "params.yaml", "fingerprints")


def write_report(folder: Path = Path()) -> Path | None:
    """Write the report of a working tree with its lineage; None where stage `report` has not run."""
    made, shown = folder / MADE, folder / SHOWN
    if not made.exists():
        return None
    rows = {"lineage": current_lineage(folder).id, **code_rows(commit(folder, *_INPUTS))}
    found = origin(rows, citation(rows, folder))
    partial = shown.with_name(f".{shown.name}.partial")
    partial.write_text(made.read_text(encoding="utf-8").replace(PLACE, found, 1), encoding="utf-8")
    return partial.replace(shown)
