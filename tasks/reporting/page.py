"""The report of a run: key figures, notes, patients, metric tables by subject, provenance; no outside resources."""

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any, get_args

import pandas as pd

from schemas.params import Params
from schemas.params.llm import RoleName
from tasks.measures import described
from tasks.measures.report import report
from tasks.papers.reproduction import ABSENT_TABLES, CLASSES, class_counts
from tasks.reporting.display import number, paragraph, percent, script_json, settings, words
from tasks.reporting.figures import figure_of
from tasks.reporting.headlines import first_row
from tasks.reporting.sections import Section, all_rows, render_sections
from tasks.reporting.show import Wording, listed, main_rows, show
from tasks.transport.shown import public_params

MODEL_RATER = "model"
"""System of the rows of expert review that a model rated."""
OTHER_TABLES = "Other tables"
_UNITS = ("days", "weeks", "months", "years")
"""First words of outcomes that are counts of time."""
_IDENTITY = {name: name for name in ("role", "endpoint", "model", "identity")}


def captions() -> dict[str, dict[str, Any]]:
    """The entries of captions.yaml by file stem, in page order: group, title, caption; some have metrics or percent.

    The tables of measures come first of their group.
    """
    loaded: dict[str, dict[str, Any]] = settings("captions.yaml")
    groups = [entry["group"] for entry in loaded.values()]
    found = {stem: entry for tables in report("tables").values() for stem, entry in tables.items()} | loaded
    return dict(sorted(found.items(), key=lambda one: groups.index(one[1]["group"])))


def meanings(stem: str) -> dict[str, str]:
    """Description of each metric of a table, by metric."""
    columns = settings("columns.yaml")
    common: dict[str, str] = columns["names"] | columns["metrics"]
    return common | described.meanings() | captions().get(stem, {}).get("metrics", {})


def in_order(stems: Collection[str]) -> list[str]:
    """Stems of tables in the order of `captions`; those without a caption come last, by name."""
    order = {stem: place for place, stem in enumerate(captions())}
    return sorted(stems, key=lambda stem: (order.get(stem, len(order)), stem))


def metric_section(
    stem: str, file: str, table: pd.DataFrame, *, prefix: str = "table", repeated: bool = False
) -> Section:
    """One metric table: caption, a figure or else the rows that a paper would print, and all rows to be opened.

    ``repeated``: at paper scale, and in the report of the run as well.
    """
    caption = captions().get(stem, {})
    measured = table[table["value"].notna()]
    made_by = sorted((measured if len(measured) else table)["provenance"].unique())
    alone = caption.get("without_people", "") if set(table["system"]) == {MODEL_RATER} else ""
    shares = {*settings("columns.yaml")["percent"], *described.percent(), *caption.get("percent", ())}
    wording = Wording(meanings(stem), shares, own_systems=False)
    title = caption.get("title", words(stem).capitalize()) + (", paper scale" if repeated else "")
    main = show(main_rows(table, caption.get("shown", ())), wording, n_once=True)
    same = [f"{name} {value}" for name, value in main.constant.items()] + ([f"n = {main.n}"] if main.n else [])
    figure = figure_of(stem, table)
    return Section(
        f"{prefix}-{stem}",
        title,
        [f"{alone.format(rater='; '.join(made_by))} {caption.get('caption', '')}".strip()],
        figure=figure,
        tables=[] if figure else main.tables,
        notes=[f"In all rows: {'; '.join(same)}."] if main.tables and same and not figure else [],
        folds=[
            all_rows(show(table, wording, n_once=True), title, notes=[f"{file}. Provenance: {'; '.join(made_by)}."])
        ],
    )


def grouped(tables: Mapping[str, pd.DataFrame], files: Mapping[str, str]) -> list[Section]:
    """The metric tables by subject."""
    groups: dict[str, list[Section]] = {}
    for stem in in_order(tables):
        group = captions().get(stem, {}).get("group", OTHER_TABLES)
        groups.setdefault(group, []).append(metric_section(stem, files[stem], tables[stem]))
    return [Section(group.lower().replace(" ", "-") + "-tables", group, parts=parts) for group, parts in groups.items()]


def tiles(records: pd.DataFrame, notes: pd.DataFrame, spans: pd.DataFrame) -> list[dict[str, str]]:
    """Counts of the run."""
    counted = [
        (len(records), "patient records"),
        (len(notes), "notes kept"),
        (int((notes["attempt"] > 0).sum()), "of them rewritten after a check"),
        (int((~notes["consistent"]).sum()), "kept that were flagged, or whose check failed"),
        (len(spans), "symptom spans"),
    ]
    return [{"value": f"{count:,}", "label": label} for count, label in counted]


def printed_tiles(reproduction: pd.DataFrame) -> list[dict[str, str]]:
    """Figures that the papers print: those within tolerance, of those compared, by kind of basis."""
    counts = class_counts(reproduction) if len(reproduction) else {}
    listed = [{"value": f"{met:,} of {told:,}", "label": CLASSES[basis]} for basis, (met, told) in counts.items()]
    if absent := int((reproduction["verdict"] == "absent").sum()):
        listed.append({"value": f"{absent:,}", "label": ABSENT_TABLES})
    return listed


FEWEST = 20
"""Fewest records, claims or questions of a key figure: a share of ten says little."""


def key_figures(tables: Mapping[str, pd.DataFrame]) -> list[dict[str, str]]:
    """Rows of ``tables`` (by stem) that `key_rows` selects, but for those without a value or of fewer than `FEWEST`."""
    found = []
    for wanted in key_rows():
        key = [wanted.get(name, "*") for name in ("system", "condition", "item", "metric")]
        row = first_row(tables, wanted["table"], *key) if wanted["table"] in tables else None
        if row is None or 0 < row["n"] < FEWEST:
            continue
        write = percent if wanted.get("percent") else number
        interval = "" if pd.isna(row["low"]) else f"95% interval {write(row['low'])} to {write(row['high'])}"
        outcome = row["item"].rpartition(" on ")[2] if row["metric"] == "effect" else ""
        unit = next((f" {word}" for word in _UNITS if outcome.startswith(word)), "")
        n = f"n\u00a0=\u00a0{row['n']:,}" if row["n"] else "exact"
        unscored = f"{row['unscored']:,} unscored" if row["unscored"] else ""
        found.append(
            {
                "value": write(row["value"]) + unit,
                "label": wanted["label"].format(item=words(row["item"])),
                "interval": ", ".join(filter(None, (interval, n, unscored))),
                "target": f"table-{wanted['table']}",
            }
        )
    return found


def by_rules(params: Params) -> list[str]:
    """The roles that the simulator plays, and the judge of claims where its rules judge them in place of another."""
    ruled = params.doclens.evaluator == "simulator" and not params.roles["judge"].is_simulator
    return [*params.by_rules, *(["judge of claims"] if ruled else [])]


def key_rows() -> list[dict[str, Any]]:
    """The rows that are key figures: those of key_figures.yaml, then those of measures."""
    return settings("key_figures.yaml") + [row for rows in report("key_figures").values() for row in rows]


def render_page(
    *,
    notes: Sequence[Mapping[str, Any]],
    variables: Mapping[str, Sequence[str]],
    record_count: int,
    key_figures: Sequence[Mapping[str, str]],
    tiles: Sequence[Mapping[str, str]],
    tables: Sequence[Section],
    not_shown: Sequence[str],
    simulator_roles: Sequence[str],
    fingerprints: Sequence[str],
    params: Mapping[str, Any],
    source: str = "model",
    histories: Sequence[Mapping[str, Any]] = (),
    untrusted: Sequence[str] = (),
) -> str:
    """The report. Everything except the page's style, script and figures is escaped.

    ``variables``: names of the record's variables by type, in display order; symptoms are highlighted in the notes.
    ``histories``: patients over time (`tasks.reporting.notes_view`). ``untrusted``: metrics that do not follow truth.
    ``fingerprints``: JSON texts of the files of the roles. ``source``: of the notes, ``write.source``.
    """
    symptoms = list(variables.get("symptom", ()))
    record = {"symptoms": symptoms, "variables": {kind: list(names) for kind, names in variables.items()}}
    whole = "All roles" if {*simulator_roles} == {*get_args(RoleName)} else "Of the roles, these"
    head = Section(
        "overview",
        "Simulated clinical notes with known truth" if source == "model" else "Clinical notes from files",
        [paragraph(f"run_{source}")],
        [paragraph("run_by_rules", roles=f"{whole} ({', '.join(simulator_roles)})")] if simulator_roles else [],
        parts=[Section("key-figures", "Key figures", tiles=key_figures), Section("run", "This run", tiles=tiles)],
    )
    data = {"symptoms": symptoms, "kinds": sorted({note["kind"] for note in notes})}
    said = paragraph("notes", notes=len(notes), records=record_count)
    browser = Section("notes", "Notes", [said], widget="notes", data=data)
    patients = Section(
        "patients",
        "Patients over time",
        [paragraph("patients")],
        [paragraph("untrusted", metrics="; ".join(untrusted))] if untrusted else [],
        widget="patients",
        data={"histories": histories},
    )
    rows = []
    for loaded in map(json.loads, fingerprints):
        identity = loaded["identity"]
        model = identity.get("answered") or identity["asked"]
        rest = {key: value for key, value in identity.items() if key not in ("endpoint", "answered")}
        said = "; ".join(f"{key} {value}" for key, value in sorted(rest.items()))
        rows.append({"role": loaded["role"], "endpoint": identity["endpoint"], "model": model, "identity": said})
    text = json.dumps(public_params(params), indent=1)
    models = Section(
        "models",
        "Models",
        [paragraph("models")],
        tables=[listed(rows, _IDENTITY, kind="wrap")],
        widget="code",
        data={"title": "Params of this run", "text": text},
    )
    other = [f"Not shown, not in the layout of metric tables: {', '.join(not_shown)}."] if not_shown else []
    origin = Section("provenance", "Provenance", widget="place", notes=other, parts=[models])
    sections = [browser, *([patients] if histories else []), *tables, origin]
    links = {f"#{one.id}": one.title for one in sections}
    return render_sections(
        "vignette report",
        head,
        sections,
        scripts=("tables.js", "report.js"),
        data={"note-data": script_json(record | {"notes": list(notes)})},
        links={"#overview": "Overview", **links, PAPERS: "The papers, and outside data"},
    )


PAPERS = "papers.html"
"""The second page, beside the first."""


def render_papers(
    reproduction: Sequence[Section],
    conclusions: Section,
    tables: Sequence[Section],
    claims: Mapping[str, Any],
    printed: Sequence[Mapping[str, str]],
) -> str:
    """The second page: what the papers print and conclude, and the tables of outside data and paper scale.

    ``claims``: those of outside documents, with a recorded model's verdicts, for the script of the page.
    """
    judged = [Section("judged", "Judged by a strong model", [paragraph("judged")], widget="judged")] if claims else []
    outside = Section("outside", "Outside data, paper scale", [paragraph("outside")], parts=tables)
    head = Section("overview", "The papers, and outside data", [paragraph("papers")], tiles=printed)
    sections = [*reproduction, conclusions, *judged, outside, Section("provenance", "Provenance", widget="place")]
    return render_sections(
        "vignette report: the papers",
        head,
        sections,
        scripts=("tables.js", "report.js"),
        data={"judged-data": script_json(claims)} if claims else {},
        links={"index.html": "← The run", "#overview": "Overview", **{f"#{one.id}": one.title for one in sections}},
    )
