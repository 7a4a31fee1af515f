"""The report as it is read: the page that stage `report` makes, with the lineage and the commit that it belongs to.

The page itself depends on its inputs only, so that equal inputs give equal bytes; the commit is known afterwards.
"""

from html import escape
from pathlib import Path

import yaml

from flows.lineage.git import changed_files, git, head_revision
from flows.lineage.lineage import current_lineage

MADE, SHOWN = Path("data/report/index.html"), Path("reports/index.html")
PLACE = "<!-- lineage -->"
"""Where a page made by stage `report` has room for the lineage."""
_INPUTS = ("flows", "tasks", "schemas", "dvc.yaml", "params.yaml", "fingerprints")


def write_report(folder: Path = Path()) -> Path | None:
    """Write the report of a working tree with its lineage; None where stage `report` has not run."""
    made, shown = folder / MADE, folder / SHOWN
    if not made.exists():
        return None
    rows = {"lineage": current_lineage(folder).id, **_commit(folder)}
    cells = "".join(
        f'<tr><th scope="row">{escape(name)}</th><td>{escape(value)}</td></tr>' for name, value in rows.items()
    )
    cite = f"<h3>How to cite</h3><p>{escape(citation(folder, rows))}</p>"
    table = f'<div class="scroll"><table><tbody>{cells}</tbody></table></div>'
    partial = shown.with_name(f".{shown.name}.partial")
    partial.write_text(made.read_text(encoding="utf-8").replace(PLACE, table + cite, 1), encoding="utf-8")
    return partial.replace(shown)


def citation(folder: Path, rows: dict[str, str]) -> str:
    """How to cite the report, from CITATION.cff."""
    cited = yaml.safe_load((folder / "CITATION.cff").read_text(encoding="utf-8"))
    authors = ", ".join(author["name"] for author in cited["authors"])
    of = ", ".join(f"{name} {value}" for name, value in rows.items())
    return f"{authors}. {cited['title']}, version {cited['version']} ({of})."


def _commit(folder: Path) -> dict[str, str]:
    """Revision and date of the commit that is checked out; nothing outside of a repository."""
    revision = head_revision(folder)
    if not revision:
        return {}
    changed = " with uncommitted changes" if changed_files(*_INPUTS, folder=folder) else ""
    date = (git("show", "--no-patch", "--format=%cs", "HEAD", folder=folder) or b"").decode().strip()
    return {"code revision": revision[:10] + changed, "date of the commit": date}
