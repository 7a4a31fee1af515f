"""The report as it is read: the pages that stage `report` makes, with the lineage and the commit that each belongs to.

The pages themselves depend on their inputs only, so that equal inputs give equal bytes; the commit is known afterwards.
"""

from pathlib import Path

from flows.lineage.lineage import current_lineage
from flows.lineage.origin import citation, code_rows, commit
from flows.repository.git import git
from flows.repository.pipeline import MAIN, PUBLISHED
from flows.repository.workspace import write_text
from tasks.reporting.display import origin

MADE, SHOWN = Path("data/report/index.html"), Path("reports/index.html")
PAPERS = "papers.html"
"""The second page, beside the first: its lineage is that of the second pipeline."""
PLACE = "<!-- lineage -->"
"""Where a page made by stage `report` has room for the lineage."""
_INPUTS = ("flows", "tasks", "schemas", "dvc.yaml", "params.yaml", "fingerprints")


def write_report(folder: Path = Path()) -> None:
    """Write the pages of a working tree that stage `report` has made, each with its lineage."""
    for name, pipeline in ((MADE.name, MAIN), (PAPERS, PUBLISHED)):
        made = folder / MADE.with_name(name)
        if not made.exists():
            continue
        rows = {"lineage": current_lineage(folder, pipeline).id, **code_rows(commit(folder, *_INPUTS))}
        date = git("log", "-1", "--format=%cs", "--", str(pipeline.parent), folder=folder)
        if pipeline == PUBLISHED and date:
            rows["date of the results"] = date.decode().strip()
        page = made.read_text(encoding="utf-8").replace(PLACE, origin(rows, citation(rows, folder)), 1)
        write_text(folder / SHOWN.with_name(name), page)
