"""Pages as sections: each has paragraphs, tables, at most one figure, folded parts, and what templates add to it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tasks.reporting.display import read_template, render
from tasks.reporting.show import Cell, Shown, Table


@dataclass(frozen=True)
class Fold:
    """A part that is opened by a click: ``small`` beside its title, then paragraphs, tables and notes.

    ``filter``: rows are found by words; the text names the field to those who cannot see it.
    """

    title: str
    small: str = ""
    paragraphs: Sequence[str] = ()
    tables: Sequence[Table] = ()
    notes: Sequence[str] = ()
    filter: str = ""
    counts: Mapping[str, int] = field(default_factory=dict)
    data: Sequence[Any] = ()


@dataclass(frozen=True)
class Section:
    """A section with a title, and ``parts`` below it. ``widget``: a macro of widgets.html, which is given ``data``.

    Paragraphs that are `markupsafe.Markup` are put in as they are, all else is escaped. ``tiles``: value, label, small
    line and link. ``figure``: SVG and its caption. ``filter``: as of a `Fold`, of ``tables``.
    """

    id: str
    title: str
    paragraphs: Sequence[str] = ()
    banners: Sequence[str] = ()
    tiles: Sequence[Mapping[str, str]] = ()
    figure: tuple[str, str] | None = None
    filter: str = ""
    tables: Sequence[Table] = ()
    notes: Sequence[str] = ()
    widget: str = ""
    data: Mapping[str, Any] = field(default_factory=dict)
    folds: Sequence[Fold] = ()
    parts: Sequence["Section"] = ()


def render_sections(
    title: str,
    head: Section,
    sections: Sequence[Section],
    *,
    scripts: Sequence[str] = (),
    data: Mapping[str, str] | None = None,
    links: Mapping[str, str] | None = None,
    wide: bool = False,
) -> str:
    """One self-contained HTML page. ``data``: JSON texts by the id under which the scripts find them.

    ``links``: the contents beside the page, titles by link; ``wide``: it is as wide as the window.
    """
    return render(
        "page.html",
        style=read_template("style.css"),
        script="".join(map(read_template, scripts)),
        title=title,
        head=head,
        sections=sections,
        data=data or {},
        links=links or {},
        wide=wide,
    )


def all_rows(shown: Shown, title: str, *, notes: Sequence[str] = (), small: str = "") -> Fold:
    """All rows of METRICS, with what holds of them and what is not measured, to be opened."""
    unscored = f"up to {shown.unscored} unscored in a row" if shown.unscored else "none unscored"
    constant = "; ".join(f"{name} {value}" for name, value in shown.constant.items())
    absent = "; ".join(f"{metric} ({need})" for metric, need in shown.absent)
    said = [f"All rows: {constant}."] if constant else []
    said += [f"Not measured here: {absent}."] if absent else []
    said += [f"n = {shown.n} in all rows."] if shown.n else []
    return Fold(
        f"all {shown.rows:,} rows" if shown.rows != 1 else "1 row",
        small or unscored,
        tables=shown.tables,
        notes=[*said, *notes],
        filter=f"filter rows of {title}" if shown.rows > 12 else "",
    )


def origin_section(rows: Mapping[str, object], citation: str = "") -> Section:
    """What a page was made from, by name, and how to cite it."""
    table = Table([], [[Cell(str(name)), Cell(str(value), kind="wrap")] for name, value in rows.items()])
    cite = [Section("cite", "How to cite", [citation])] if citation else []
    return Section("provenance", "Provenance", tables=[table], parts=cite)
