"""Writes docs/papers.md, the counts in README.md and reports/conclusions.csv from the committed tables.

``python -m tests.papers.page`` after the results have changed; tests compare the files with what it writes.
"""

from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from flows.runtime.tables import read_table
from schemas.tables.metrics import BASES, REPRODUCTION
from tasks.papers.conclusions import conclusions, counts_line, shown, tables_needed, tested, undecided
from tasks.papers.printed import Item, items, papers, short_titles
from tasks.papers.reproduction import ABSENT_TABLES, CLASSES, class_counts, known_rows

ROOT = Path(__file__).resolve().parents[2]
HEAD = Path(__file__).with_name("head.md")
BEGIN, END = "<!-- written by python -m tests.papers.page -->", "<!-- end -->"
JUDGED = (Path("reports/reproduction.csv"), Path("reports/published/reproduction.csv"))


def written() -> dict[Path, str]:
    """The text of each file that is written, by path."""
    rows, decided = all_rows(), concluded()
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    before, _, rest = readme.partition(BEGIN)
    counted = f"{counts_table(rows)}\n\n{counts_line(decided)}"
    return {
        Path("docs/papers.md"): papers_page(rows, conclusions_text(decided, short_titles())),
        Path("README.md"): f"{before}{BEGIN}\n\n{counted}\n\n{END}{rest.partition(END)[2]}",
        Path("reports/conclusions.csv"): decided.to_csv(index=False, float_format="%.6g", lineterminator="\n"),
    }


def all_rows() -> pd.DataFrame:
    """Judged rows of both pipelines."""
    return known_rows([read_table(ROOT / file, REPRODUCTION) for file in JUDGED])


def concluded() -> pd.DataFrame:
    """CONCLUSIONS for the committed metric tables of both pipelines."""
    places = {name: ROOT / "reports" / _place(name) for name in tables_needed()}
    return conclusions({name: pd.read_csv(file) for name, file in places.items()})


def _place(name: str) -> str:
    folder, _, stem = name.rpartition("/")
    return f"{folder}/tables/{stem}.csv" if folder else f"tables/{stem}.csv"


def counts_table(rows: pd.DataFrame) -> str:
    """`class_counts` as a Markdown table, with the number of tables that are absent."""
    lines = ["| figures | within tolerance |", "|---|---|"]
    lines += [f"| {CLASSES[basis]} | {met:,} of {told:,} |" for basis, (met, told) in class_counts(rows).items()]
    lines.append(f"| {ABSENT_TABLES} | {(rows['verdict'] == 'absent').sum()} |")
    return "\n".join(lines)


def conclusions_text(table: pd.DataFrame, titles: Mapping[str, str]) -> str:
    """The table as Markdown, by paper, and the conclusions that nothing here decides."""
    names, lines = ["conclusion", "test", "difference here", "n", "verdict", "basis; interval"], list[str]()
    for source, title in titles.items():
        lines += [f"### {title}", "", f"| {' | '.join(names)} |", "|---" * len(names) + "|"]
        before = ""
        for row in table[table["source"] == source].to_dict("records"):
            kind, _, reason = row["interval"].partition(": ")
            interval = f"{kind}, same reason" if reason and reason == before else row["interval"]
            basis = f"{row['basis']}; {interval}"
            before = reason
            cells = [row["conclusion"], tested(row), shown(row), f"{row['n']:,}", row["verdict"], basis]
            lines.append(f"| {' | '.join(cells)} |")
        if found := [one for one in undecided(table) if one["source"] == source]:
            missing: dict[str, list[str]] = {}
            for one in found:
                missing.setdefault(one["needs"], []).append(one["conclusion"])
            lines += ["", "Nothing here decides:", ""]
            lines += [f"- {'; '.join(of)}. Missing: {needs}." for needs, of in missing.items()]
        lines.append("")
    return "\n".join(lines).rstrip()


_ABOUT = """\
A figure may be met where a conclusion is not. Each line is what a paper concludes, and the difference of the two values
that decides it, with a 95% interval. Values are those of our tables or, where the line says `printed`, figures of the
paper with their printed spread, which say nothing about our data. Values of basis `stand-in` say nothing about the
paper's models.

- `more`: the first value is larger; `as much`: not smaller by more than the margin; `same`: within the margin. Margins
  are ours, as the papers name none. `not significant`: the interval includes 0, as in a paper that tests at a level of
  5%; few items make it hold too. `pairs`: of pairs of printed figures, the first is larger in more than half; pairs
  count as independent, which those of one model are not.
- The interval is paired where both values are of the same items and the tables allow it. Else it is that of independent
  values, too wide for the same items, for the reason in the last column (`same reason`:
  that of the line above), which also names intervals other than 95%.
- n is the smallest number of texts, ratings or pairs behind a value; one document may have several.
- Each conclusion stands for itself: with as many, one or two hold by chance."""


_COLUMNS = "| item | contents | reproduced | requirement, counterpart, remark |"
_LONG = 5
"""Words of a remark that is said once for each paper."""
_COMMANDS = {"make repro": "R", "make published": "P", "make published SOURCES=folder": "S"}


def papers_page(rows: pd.DataFrame, concluded: str) -> str:
    """The page as Markdown. ``rows``: REPRODUCTION of all pipelines; ``concluded``: the table of conclusions."""
    groups = dict(list(rows.groupby(["source", "table"])))
    parts = [HEAD.read_text(encoding="utf-8"), f"## Conclusions\n\n{_ABOUT}\n\n{concluded}"]
    for source, paper in papers().items():
        parts += [f"\n## {paper['title']}\n", _COLUMNS, "|---|---|---|---|"]
        said: dict[str, str] = {}  # where a remark is made first
        for item in (one for one in items().values() if one.source == source):
            parts.append(_line(item, groups.get((source, item.name)), said))
    return "\n".join(parts) + "\n"


def _line(item: Item, rows: pd.DataFrame | None, said: dict[str, str]) -> str:
    needs = f"needs {item.needs}" if rows is not None and (rows["basis"] == "absent").any() and item.needs else ""
    given = [note for note in (needs, item.instead, item.remark) if note]
    notes = "; ".join(dict.fromkeys(f"as {said[note]}" if note in said else note for note in given))
    said.update((note, item.name) for note in given if note not in said and len(note.split()) > _LONG)
    command = f" ({_COMMANDS[item.command]})" if item.command else ""
    texts = [item.name, item.contents, _status(rows) + command, notes]
    return "| " + " | ".join(text.replace("|", "\\|") for text in texts) + " |"


def _status(rows: pd.DataFrame | None) -> str:
    """Counts by basis: "recomputed: 51 of 52; others absent"."""
    if rows is None:
        return "-"
    compared = rows[rows["verdict"] != "absent"]
    kinds = sorted(compared["basis"].unique(), key=lambda basis: BASES.index(basis.partition(":")[0]))
    met = {basis: compared.loc[compared["basis"] == basis, "verdict"] == "pass" for basis in kinds}
    found = [f"{basis}: {passed.sum()} of {len(passed)}" for basis, passed in met.items()]
    if len(compared) < len(rows):
        found.append("others absent" if found else "absent")
    return "; ".join(found)


if __name__ == "__main__":
    for file, content in written().items():
        (ROOT / file).write_text(content, encoding="utf-8")
