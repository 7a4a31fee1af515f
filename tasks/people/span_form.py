"""The form in which a reader marks wrong and missing phrases of sampled notes (SimSUM, Section 2.3), and its labels.

Returned forms are counts of extracted, wrong and missing phrases, for precision and recall. A label says whether a note
mentions a symptom.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any, Literal

import pandas as pd
from pydantic import BaseModel, ConfigDict, Field

from schemas.tables.columns import NOTE_VERSIONS, typed
from schemas.tables.people import SPAN_REVIEW_NOTES
from schemas.tables.records import ASSERTIONS
from tasks.domains.rules import rules_of
from tasks.people.forms import Form, Item, Returned, holding, labelled
from tasks.statistics.bootstrap import sample_records
from tasks.statistics.metric_rows import Row, metric_row, metric_table, ratio_row

Span = dict[str, Any]
"""A phrase: symptom, start and end (characters into the note, end exclusive)."""
STAGE = "span_review"
PUBLISHED_NOTES = 100
_COUNTS = ("extracted", "incorrect", "missing")
COLUMNS = ["rater", "record", "version", "symptom", *_COUNTS]


def draw_notes(notes: pd.DataFrame, compact: pd.DataFrame, count: int, *, seed: int) -> pd.DataFrame:
    """Both versions (columns note and compact) of ``count`` random records, as SPAN_REVIEW_NOTES."""
    both = notes.merge(compact[["record", "compact"]], on="record")
    chosen = both[both["record"].isin(sample_records(both["record"], count, seed=seed))]
    texts = {"normal": chosen["note"], "compact": chosen["compact"]}
    parts = [pd.DataFrame({"record": chosen["record"], "version": v, "text": texts[v]}) for v in NOTE_VERSIONS]
    drawn = pd.concat(parts).sort_values(["record", "version"], ascending=[True, False], ignore_index=True)
    return typed(drawn, SPAN_REVIEW_NOTES)


class MissingPhrase(BaseModel):
    """A phrase that the annotator did not extract."""

    model_config = ConfigDict(extra="forbid", strict=True)
    symptom: str
    start: int = Field(ge=0)
    end: int = Field(ge=1)


class CorrectedAssertion(BaseModel):
    """What a phrase asserts, by its number in the form's order, where the reader disagrees with the annotator."""

    model_config = ConfigDict(extra="forbid", strict=True)
    span: int = Field(ge=0)
    assertion: Literal["present", "absent", "possible", "past", "other person"]


class CheckedNote(Item):
    """What a reader found in one note: wrong phrases by number, missing phrases, and corrected assertions."""

    record: str  # "record/version"
    incorrect: list[int]
    missing: list[MissingPhrase]
    corrected: list[CorrectedAssertion] = Field(default_factory=list)


@dataclass(frozen=True, eq=False)
class SpanForm(Form):
    """The form of the drawn notes (SPAN_REVIEW_NOTES) with their phrases (SPANS); ``symptoms`` can be marked."""

    format, kind, noun = "vignette-spans", "span", "text"
    title, script, answer, listed = "Checking extracted phrases", "spans.js", CheckedNote, "notes"
    drawn: pd.DataFrame
    spans: pd.DataFrame
    symptoms: Sequence[str]

    @property
    def content(self) -> str:
        """The notes and their phrases."""
        return json.dumps([self.drawn["text"].tolist(), self.records], sort_keys=True)

    @cached_property
    def records(self) -> dict[str, list[Span]]:
        """The extracted phrases of each drawn note, by "record/version", in order of their places."""
        found: dict[str, list[Span]] = {key: [] for key in self._texts}
        ordered = self.spans.sort_values(["start", "end", "symptom"])
        for row in ordered[ordered["record"].isin(self.drawn["record"])].itertuples():
            phrase: Span = {"symptom": row.symptom, "start": int(row.start), "end": int(row.end)}
            if isinstance(row.assertion, str):
                phrase["assertion"] = row.assertion
            found[f"{row.record}/{row.version}"].append(phrase)
        return found

    @cached_property
    def _texts(self) -> dict[str, str]:
        return {f"{row.record}/{row.version}": row.text for row in self.drawn.itertuples()}

    def check(self, item: CheckedNote) -> list[str]:
        """Wrong phrases must be among the extracted ones, and missing ones in the note but not among them."""
        problems, extracted, size = [], self.records[item.record], len(self._texts[item.record])
        if len(set(item.incorrect)) < len(item.incorrect) or not set(item.incorrect) <= set(range(len(extracted))):
            problems.append(f"incorrect phrases {item.incorrect}, expected different numbers below {len(extracted)}")
        known = {(span["symptom"], span["start"], span["end"]) for span in extracted}
        for span in item.missing:
            phrase = f"phrase {span.symptom} {span.start}-{span.end}"
            if span.symptom not in self.symptoms or not span.start < span.end <= size:
                problems.append(f"missing {phrase} is not a part of the note")
            if (span.symptom, span.start, span.end) in known:
                problems.append(f"{phrase} is twice in the note's phrases")
            known.add((span.symptom, span.start, span.end))
        numbers = [one.span for one in item.corrected]
        stated = {at for at, span in enumerate(extracted) if "assertion" in span}
        if len(set(numbers)) < len(numbers) or not set(numbers) <= stated:
            problems.append(f"corrected assertions of phrases {numbers}, expected different phrases with an assertion")
        return problems

    def counts(self, files: Mapping[str, str]) -> pd.DataFrame:
        """Counts of extracted, incorrect and missing phrases by reader, note, version and symptom (COLUMNS).

        ``files`` maps names of returned files to texts.
        """
        rows: list[tuple[Any, ...]] = []
        for (rater, file), symptom in product(self.read_by_rater(files), self.symptoms):
            for note in file.items:
                record, _, version = note.record.partition("/")
                extracted = [span["symptom"] for span in self.records[note.record]]
                wrong = sum(extracted[at] == symptom for at in note.incorrect)
                missing = sum(span.symptom == symptom for span in note.missing)
                rows.append((rater, int(record), version, symptom, extracted.count(symptom), wrong, missing))
        counted = dict.fromkeys(("record", *_COUNTS), "int64")  # also without any row
        return pd.DataFrame(rows, columns=COLUMNS).astype(counted)

    def assertions(self, files: Mapping[str, str]) -> pd.DataFrame:
        """Phrases with an assertion that readers left as right: record, version, and whether its assertion is right."""
        rows = [
            (
                int(note.record.partition("/")[0]),
                note.record.partition("/")[2],
                at not in {one.span for one in note.corrected},
            )
            for file in self.read(files).values()
            for note in file.items
            for at, span in enumerate(self.records[note.record])
            if "assertion" in span and at not in note.incorrect
        ]
        return pd.DataFrame(rows, columns=["record", "version", "right"])

    def filled(self, labels: Mapping[str, str], rater: str) -> str:
        """HTML of the form; ``labels`` name the symptoms."""
        items = [{"record": key, "text": text, "spans": self.records[key]} for key, text in self._texts.items()]
        symptoms = [{"name": name, "label": labels.get(name, name)} for name in self.symptoms]
        return self.page(rater, items, symptoms=symptoms, assertions=list(ASSERTIONS))


def assertion_rows(asserted: pd.DataFrame, *, provenance: str) -> pd.DataFrame:
    """METRICS: share of right assertions among the phrases that are right (`SpanForm.assertions`), by version."""
    rows = []
    for version, group in asserted.groupby("version", sort=True):
        by_record = group.groupby("record")["right"].agg(["sum", "count"])
        rows.append(ratio_row("right", by_record["sum"], by_record["count"], condition=f"assertion, {version}"))
    return metric_table(rows, stage=STAGE, system="annotator", item="all", provenance=provenance)


def counts_by_note(counts: pd.DataFrame) -> pd.DataFrame | None:
    """One row for each note of which both versions were checked, with columns ``<version>_<count>``; None without any.

    ``counts`` are those of `SpanForm.counts`; several readers of a note are averaged.
    """
    if counts.empty:
        return None
    by_reader = counts.groupby(["record", "version", "rater"])[list(_COUNTS)].sum()
    wide = by_reader.groupby(["record", "version"]).mean().unstack("version").dropna()
    wide.columns = [f"{version}_{name}" for name, version in wide.columns]
    needed = [f"{version}_{name}" for version in NOTE_VERSIONS for name in _COUNTS]
    return wide[needed] if len(wide) and set(needed) <= set(wide) else None


def symptom_rows(counts: pd.DataFrame, *, provenance: str) -> pd.DataFrame:
    """METRICS: extracted, incorrect and missing phrases of each symptom; readers of a note are averaged."""
    rows: list[Row] = []
    mean = counts.groupby(["record", "version", "symptom"], sort=True)[list(_COUNTS)].mean()
    for (version, symptom), group in mean.groupby(["version", "symptom"], sort=True):
        totals = group.sum()
        rows += [
            metric_row(f"{name}_phrases", float(totals[name]), n=len(group), condition=version, item=symptom)
            for name in _COUNTS
        ]
    return metric_table(rows, stage=STAGE, system="annotator", provenance=provenance)


def published_rows(published: pd.DataFrame) -> pd.DataFrame:
    """METRICS of SimSUM's manual evaluation as printed (Section 2.3); ``published`` has shares in percent by note."""
    rows = [
        metric_row(metric, float(line[f"{metric}_percent"]) / 100, n=PUBLISHED_NOTES, condition=line["note"])
        for line in published.to_dict("records")
        for metric in ("precision", "recall")
    ]
    return metric_table(rows, stage=STAGE, system="SimSUM, as printed", item="all", provenance="SimSUM, Section 2.3")


def span_labels(
    records: pd.Series, spans: pd.DataFrame, counts: pd.DataFrame, symptoms: Sequence[str], judge: str
) -> pd.DataFrame:
    """VERDICTS of "the note mentions the symptom" on both versions of each of ``records``, labelled.

    Verdict: a phrase (SPANS) was extracted. Label: the reader (``counts`` of `SpanForm.counts`) left an extracted
    phrase or added a missing one.
    """
    extracted = set(spans[["record", "version", "symptom"]].itertuples(index=False, name=None))
    items = [(int(r), v, s) for r in sorted(records.unique()) for v in NOTE_VERSIONS for s in symptoms]
    made = ((str(r), f"{v}/{s}", judge, (r, v, s) in extracted) for r, v, s in items)
    people = (
        (str(one.record), f"{one.version}/{one.symptom}", one.rater, one.extracted - one.incorrect + one.missing > 0)
        for one in counts.itertuples()
    )
    return labelled(holding("spans", made), holding("spans", people))


RETURNED = Returned(
    SpanForm.format,
    "span_review",
    "spans_returned",
    lambda load, params: SpanForm(load("span_review_notes"), load("spans"), rules_of(params.domain).symptoms),
)
