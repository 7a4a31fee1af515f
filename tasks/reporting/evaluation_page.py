"""The page of an evaluation, one HTML file without outside resources, and the data of its documents for its script."""

import re
from collections.abc import Collection, Mapping, Sequence
from operator import itemgetter
from typing import Any

import pandas as pd

from schemas.tables.columns import typed
from schemas.tables.verdicts import VERDICTS
from tasks.measures.declared import Panel, Unit
from tasks.measures.described import OF_OUTPUTS
from tasks.measures.doclens.judging import METRICS as JUDGED_METRICS
from tasks.progress import number_of
from tasks.reporting.display import paragraph, script_json, settings, words
from tasks.reporting.evaluation_text import (
    DRY_RUN,
    METRICS,
    RULES,
    SHARES,
    figures_and_pairs,
    foreign_line,
    main_table,
    means,
    number_of_comparisons,
    reading_line,
    ruled,
    what_to_report,
)
from tasks.reporting.sections import Fold, Section, all_rows, origin_section, render_sections
from tasks.reporting.show import Wording, differences, listed, show
from tasks.statistics.sign_flips import FEWEST, LEVEL
from tasks.text.language import foreign_texts
from tasks.text.sentences import sentence_spans
from tasks.texts.document import Document

Segments = Sequence[tuple[str, int]]
"""Parts of a text in order, with whether each is a sentence: 1 or 0."""

_WORD = re.compile(r"[a-z0-9]+(?:[./][0-9]+)?")
_GROUNDED = {"supported": 1, "contradicted": 0, "absent": 2}
_COMMON = frozenset(
    re.findall(
        r"\w+",
        "a an and are as at be been by for from had has have he her him his in is it its of on or she that the their "
        "them there they this to was were will with patient s",
    )
)
LEAST = 0.34
"""Least share of a claim's words that its sentence has; a claim below it belongs to no sentence."""


def aligned_segments(text: str) -> list[tuple[str, int]]:
    """``text`` cut into sentences (1) and what lies between them (0), in order and complete."""
    parts: list[tuple[str, int]] = []
    end = 0
    for start, stop in sentence_spans(text):
        if start > end:
            parts.append((text[end:start], 0))
        parts.append((text[start:stop], 1))
        end = stop
    if end < len(text):
        parts.append((text[end:], 0))
    return parts


def align(claims: Sequence[str], parts: Segments) -> list[int | None]:
    """Number of the segment of each claim: the sentence with the largest share of its words, the first of equals.

    There is a small penalty for the sentence's other words.
    """
    sentences = [(at, _words(text)) for at, (text, is_sentence) in enumerate(parts) if is_sentence]
    found: list[int | None] = []
    for words_of in map(_words, claims):
        shares = [len(words_of & own) / max(len(words_of), 1) - 0.001 * len(own - words_of) for _, own in sentences]
        scored = [(share, -at) for share, (at, _) in zip(shares, sentences, strict=True)]
        share, at = max(scored, default=(0.0, 0))
        found.append(-at if share >= LEAST else None)
    return found


def _words(text: str) -> frozenset[str]:
    return frozenset(word[:6] for word in _WORD.findall(text.lower()) if word not in _COMMON)


def document_data(
    document: Document,
    systems: Sequence[str],
    citing: Collection[str],
    claims: pd.DataFrame,
    grounded: pd.DataFrame,
    units: Sequence[Sequence[Unit]] = (),
) -> dict[str, Any]:
    """Texts in segments, claims with verdict and segment, and ``units`` of the document by panel.

    ``claims`` and ``grounded`` are the document's rows of VERDICTS.
    """
    numbers = {system: number for number, system in enumerate(systems)}
    reference, outputs = aligned_segments(document.reference or ""), {}
    for system in (name for name in systems if name in document.outputs):
        parts, own = aligned_segments(document.outputs[system]), claims[claims["system"] == system]
        of = {metric: _rows(own[own["metric"] == metric]) for metric in JUDGED_METRICS}
        data = outputs[numbers[system]] = {
            "text": parts,
            "own": _claims(of["claim_precision"], parts),
            "recalled": _claims(of["claim_recall"], reference),
        }
        if system in citing:
            data["statements"] = _claims(of["citation_recall"], parts)
            data["marks"] = _marks(of["citation_precision"], parts)
        if sourced := _rows(grounded[grounded["system"] == system]):
            stated = [{**row, "value": _GROUNDED.get(row["verdict"])} for row in sourced if row["text"]]
            data["grounded"] = _claims(stated, parts)
    return {
        "id": document.id,
        "source": list(document.units),
        "reference": reference if document.reference else None,
        "outputs": outputs,
        "units": [
            [[numbers[one.system], one.text, one.verdict, one.section, one.note, one.weight] for one in of_panel]
            for of_panel in units
        ],
    }


def _rows(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Rows as plain values, None where one is missing."""
    if frame.empty:  # as of each of many documents that no judge reads; pandas would take milliseconds for it
        return []
    found: list[dict[str, Any]] = frame.astype(object).where(frame.notna(), None).to_dict("records")
    return found


def _claims(rows: Sequence[Mapping[str, Any]], parts: Segments) -> list[list[Any]]:
    """[text, verdict (1, 0 or null), segment or null, section, reason or null] of each claim, in order of the text."""
    places = align([row["text"] for row in rows], parts)
    found = [
        [row["text"], _verdict(row["value"]), at, row["item"], row["reason"]]
        for row, at in zip(rows, places, strict=True)
    ]
    return sorted(found, key=lambda claim: len(parts) if claim[2] is None else claim[2])


def _marks(rows: Sequence[Mapping[str, Any]], parts: Segments) -> list[list[Any]]:
    """[segment or null, cited number, verdict] of each citation."""
    split = [str(row["text"]).rpartition(" [") for row in rows]
    places = align([statement for statement, _, _ in split], parts)
    return [
        [at, int(number.rstrip("]")), _verdict(row["value"])]
        for row, at, (_, _, number) in zip(rows, places, split, strict=True)
    ]


def _verdict(judged: float | None) -> int | None:
    return None if judged is None else int(judged)


JUDGE_SHARES = frozenset(["sensitivity", "specificity", "precision_at_half", "judged_rightly"])
_CLAIMS = ("claims", "grounded")
"""Tables of verdicts on claims."""
_COLUMNS = {name: name for name in ("document", "system", "method", "step", "reason")}


def render_evaluation(
    title: str,
    documents: Sequence[Document],
    citing: Collection[str],
    tables: Mapping[str, pd.DataFrame],
    *,
    systems: Sequence[str],
    models: Mapping[str, str],
    problem: str | None = None,
    origin_rows: Mapping[str, str] | None = None,
    cite: str = "",
    own: Mapping[str, str] | None = None,
) -> str:
    """The page, with all texts escaped.

    ``tables``: metrics, comparisons, unscored and those of the measures that judged; of several judges judges and
    verdicts.
    ``problem``: why the judgements should not be used, if so.
    ``origin_rows``, ``cite``: what identifies the evaluation, by name, and how to cite it. ``own``: meanings of the
    user's own metrics, by name.
    """
    panels = [one.panel for one in OF_OUTPUTS if one.panel is not None and one.table in tables]
    shown = {"systems": list(systems), "documents": _documents(documents, systems, citing, tables, panels)}
    shown["panels"] = [{**vars(one), "units": None} for one in panels]
    shown["claims"], shown["judged"] = "claims" in tables, bool(panels) or not tables.keys().isdisjoint(_CLAIMS)
    meanings = {name: one["meaning"] for name, one in METRICS.items()} | {**(own or {})}
    every = show(tables["metrics"], Wording(meanings, SHARES))
    unscored = tables["unscored"].fillna({"system": "all"}).to_dict("records")
    verdicts = "".join(f" Of a {panel.kind}: {panel.verdict}." for panel in panels)
    said = f"Verdict of a claim: stated by the other text. Of a cited statement: supported by its citations.{verdicts}"
    failing = [listed(unscored, _COLUMNS, kind="wrap")]
    own_text = []
    if "judge" in tables:  # rates on cases made of the user's references, those of each kind to be opened
        rates = tables["judge"]
        whole = show(rates[rates["item"] == "all"], Wording(shares=JUDGE_SHARES))
        folds = [all_rows(show(rates, Wording(shares=JUDGE_SHARES)), "rates")]
        said_of = [paragraph("own_text")]
        own_text = [Section("judge", "The judge on your own text", said_of, tables=whole.tables, folds=folds)]
    failed = [Section("unscored", "Not scored", [paragraph("not_scored")], tables=failing)] if unscored else []
    kinds = {"systems": systems, "kinds": [panel.kind for panel in panels]}
    meant = [Fold("What the verdicts mean", paragraphs=[said])]
    claims = [Section("claims", "All claims and facts", widget="claims", data=kinds, folds=meant)]
    sections = [
        Section("documents", "Documents", widget="documents", data=shown),
        *(claims if shown["judged"] else []),
        *_comparisons(tables["comparisons"], dry_run=RULES in models.get("judge", "")),
        *_judges(tables, systems),
        *own_text,
        Section("metrics", "All metrics", folds=[all_rows(every, "metrics", small="by system, condition and section")]),
        *failed,
        origin_section({**(origin_rows or {}), **models}, cite),
    ]
    return render_sections(
        f"{title} – evaluation",
        _head(title, documents, tables, systems, models, problem, cite, own),
        sections,
        scripts=("tables.js", "documents.js"),
        data={"data": script_json(shown)},
        wide=True,
    )


def _head(
    title: str,
    documents: Sequence[Document],
    tables: Mapping[str, pd.DataFrame],
    systems: Sequence[str],
    models: Mapping[str, str],
    problem: str | None,
    cite: str,
    own: Mapping[str, str] | None,
) -> Section:
    """What was evaluated, what speaks against using it, the means, and a paragraph to copy."""
    rules = ruled(models)
    metrics = tables["metrics"]
    said = [f"{number_of(len(documents), 'document')}, {number_of(len(systems), 'system')}. {paragraph('evaluation')}"]
    if reading := reading_line(metrics):
        said.append(f"{reading[0].upper()}{reading[1:]}.")
    banners = [f"Do not use these judgements. {problem}."] if problem else []
    if rules:
        are = "is a set of rules, not a language model" if len(rules) == 1 else "are sets of rules, not language models"
        foreign = foreign_line(foreign_texts((one.id, " ".join(one.units)) for one in documents))
        by_rules = paragraph("rules", roles=" and the ".join(rules), are=are)
        banners.append(by_rules + (paragraph("foreign", foreign=foreign) if foreign else ""))
    dry_run = f"{DRY_RUN.capitalize()}. " if RULES in models.get("judge", "") else ""
    names, rows = main_table(metrics, systems)
    pairs, size = tables["comparisons"], len(documents)
    report = what_to_report(metrics, systems, documents=size, models=models, cite=cite, comparisons=pairs)
    return Section(
        "summary",
        f"{dry_run}{title}",
        said,
        banners,
        tables=[means(names, dict(rows), own)],
        folds=[Fold("What to report", "a paragraph to copy", paragraphs=[report])] if not (dry_run or problem) else [],
        notes=[paragraph("dry_report")] if dry_run else [],
    )


def _comparisons(table: pd.DataFrame, *, dry_run: bool) -> list[Section]:
    """Differences of every two systems, and what was tested; none for one system."""
    if not len(table):
        return []
    tested = (table["n"] >= FEWEST) & table["p"].notna()
    if dry_run:
        said = paragraph("dry_differences", dry_run=DRY_RUN.capitalize())
        said = said[:-1] + paragraph("dry_others", tested=tested.sum()) if tested.any() else said
    elif not tested.any():
        said = paragraph("untested", fewest=FEWEST)
    else:
        moved, beyond = int(table["changed"].sum()), int((table["p"] < LEVEL).sum())
        found = f"{moved} (marked ●)"
        found += f", and {beyond - moved} more unless the missing scores say otherwise" if beyond > moved else ""
        size = number_of_comparisons(table)
        said = paragraph("differences", size=size, tested=tested.sum(), found=found, fewest=FEWEST)
    notes = [f"{paragraph('intervals')}."] if tested.any() else []
    names = {"system A": "system_a", "system B": "system_b", "section": "item"}
    heads: dict[str, Any] = {label: itemgetter(name) for label, name in names.items()}
    heads["metric"] = lambda row: words(row["metric"])
    more = {"failed_a": "only A unscored", "failed_b": "only B unscored", "failed_both": "both unscored"}
    shown = differences(table.assign(p=table["p"].where(tested)).to_dict("records"), heads, ("A", "B"), more=more)
    return [
        Section("comparisons", "Paired comparisons", [said], filter="filter comparisons", tables=[shown], notes=notes)
    ]


def _documents(
    documents: Sequence[Document],
    systems: Sequence[str],
    citing: Collection[str],
    tables: Mapping[str, pd.DataFrame],
    panels: Sequence[Panel],
) -> list[dict[str, Any]]:
    """`document_data` of each document, with its rows of the tables and its units of each panel."""
    units: list[dict[str, list[Unit]]] = []
    for panel in panels:
        units.append({})
        for unit in panel.units(dict(tables)):
            units[-1].setdefault(unit.document, []).append(unit)
    none = typed([], VERDICTS)
    claims, grounded = (
        dict(iter(tables[name].groupby("document", sort=False))) if name in tables else {} for name in _CLAIMS
    )
    return [
        document_data(
            one,
            systems,
            citing,
            claims.get(one.id, none),
            grounded.get(one.id, none),
            [of_panel.get(one.id, []) for of_panel in units],
        )
        for one in documents
    ]


SPLITS = 200
"""Most split claims that are shown."""


def _judges(tables: Mapping[str, pd.DataFrame], systems: Sequence[str]) -> list[Section]:
    """Several judges side by side: their figures, how they agree, and the claims on which they split; none for one."""
    if "judges" not in tables or tables["verdicts"].empty:
        return []
    verdicts, (figures, pairs) = tables["verdicts"], figures_and_pairs(tables["judges"])
    columns, judges = settings("columns.yaml"), list(dict.fromkeys(verdicts["judge"]))
    by_judge = {one: main_table(figures[figures["condition"] == one], systems) for one in judges}
    names = list(dict.fromkeys(name for of, _ in by_judge.values() for name in of))
    rows = {
        f"{system}, {one}": [dict(zip(of, found, strict=True)).get(name) for name in names]
        for one, (of, all_found) in by_judge.items()
        for system, found in all_found
    }
    agreed = show(pairs, Wording(columns["metrics"], columns["percent"]))
    folds = [all_rows(agreed, "agreement")] if agreed.tables else []
    key = ["document", "system", "condition", "item", "metric", "unit", "text"]
    wide = verdicts.pivot(index=key, columns="judge", values="value").reindex(columns=judges)
    splits = wide[wide.nunique(axis=1) > 1]
    if count := len(splits):
        words_of = {1.0: "yes", 0.0: "no"}
        first = splits.head(SPLITS).map(lambda value: words_of.get(value, "failed")).reset_index()
        shown = first.assign(metric=first["metric"].map(words)).to_dict("records")
        labels = {name: name for name in ("document", "system", "metric", "text", *judges)}
        cases = f"{number_of(count, 'case')} on which the judges split"
        more = f"the first {SPLITS}; all are in tables/verdicts.csv" if count > SPLITS else ""
        folds.append(Fold(cases, more, tables=[listed(shown, labels, kind="wrap")], filter="filter cases"))
    said = paragraph("judges", judges=", ".join(judges), first=judges[0])
    return [Section("judges", "Judges side by side", [said], tables=[means(names, rows)], folds=folds)]
