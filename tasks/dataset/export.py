"""Assembles the files of the dataset: a row a record, and the patients over time, a row a visit; and their splits.

A record's notes, prompt and spans are in one split, as are all visits of a patient. The dataset card is README.md with
Hugging Face front matter, filled from ``templates/card.md``.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from io import BytesIO

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import yaml
from jinja2 import StrictUndefined, Template

from schemas.errors import TableError
from schemas.params.records import Export
from schemas.tables.columns import SECTIONS
from schemas.tables.records import MATCH_KINDS
from tasks.dataset.fields import SPAN_FIELDS, VISIT_HEAD, VISIT_NOTE, columns_of, dataset_table, split_path, visits_path
from tasks.dataset.simsum import LABEL, simsum_csv, span_json
from tasks.domains.rules import rules_of, variables_of

CHECKSUMS = "SHA256SUMS"
"""Checksums of all other files, in the format that ``sha256sum --check`` reads."""
OverTime = tuple[dict[str, pd.DataFrame], int]
"""Rows of the visits by split, and how many patients are left out, see `visit_splits`."""
NOBODY: OverTime = ({}, 0)
SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"))


@dataclass(frozen=True)
class Origin:
    """How the dataset was made."""

    records: dict[str, int]  # by split
    left_out: int  # records without note or compact note
    spans: int
    written_by: tuple[str, ...]
    annotated_by: tuple[str, ...]
    seed: int
    domain: str


def citation(export: Export) -> str:
    """How to cite the dataset; creators and year are left out where params do not give them."""
    year = f" ({export.date_published[:4]})" if export.date_published else ""
    creators = f"{'; '.join(export.creators)}{year}. " if export.creators else ""
    return f"{creators}{export.name}, version {export.version}{'' if creators else year} [data set]. {export.url}"


def dataset_card(export: Export, origin: Origin, visits: Mapping[str, pd.DataFrame], visits_left_out: int) -> str:
    """The card as Markdown; ``visits`` of patients over time by split, if any, and how many patients are left out."""
    rules, total = rules_of(origin.domain), sum(origin.records.values())
    ruled = ["simulator" in label for label in (*origin.written_by, *origin.annotated_by)]
    paths = {"default": {split: split_path(split) for split in origin.records}}
    if visits:
        paths["visits"] = {split: visits_path(split) for split in visits}
    front = {
        "pretty_name": export.name,
        "license": export.license.lower(),
        "language": ["en"],
        "task_categories": ["text-classification", "token-classification"],
        "tags": ["clinical", "synthetic"],
        "size_categories": [next((name for limit, name in SIZES if total < limit), "n>100K")],
        "configs": [
            {"config_name": name, "data_files": [{"split": split, "path": path} for split, path in own.items()]}
            for name, own in paths.items()
        ],
    }
    text = files("tasks.dataset").joinpath("templates", "card.md").read_text(encoding="utf-8")
    return Template(text, trim_blocks=True, keep_trailing_newline=True, undefined=StrictUndefined).render(
        front=yaml.safe_dump(front, sort_keys=False).strip(),
        export=export,
        origin=origin,
        total=total,
        read=LABEL in origin.written_by,
        by_rules="all" if all(ruled) else "part" if any(ruled) else "",
        subject=rules.subject,
        citation=citation(export),
        columns=columns_of(origin.domain),
        split_path=split_path,
        span_fields=SPAN_FIELDS,
        symptoms=rules.symptoms,
        sections=SECTIONS,
        matched=MATCH_KINDS,
        visits={name: {"patients": own["patient"].nunique(), "visits": len(own)} for name, own in visits.items()},
        visits_left_out=visits_left_out,
        visits_path=visits_path,
        visit_columns={**VISIT_HEAD, **VISIT_NOTE},
    )


def dataset_files(
    records: pd.DataFrame,
    prompts: pd.DataFrame,
    notes: pd.DataFrame,
    compact_notes: pd.DataFrame,
    spans: pd.DataFrame,
    split: pd.DataFrame,
    export: Export,
    *,
    annotated_by: tuple[str, ...],
    seed: int,
    domain: str,
    over_time: OverTime = NOBODY,
) -> dict[str, bytes]:
    """Files by relative path, with checksums: records with both versions of the note, and patients ``over_time``."""
    complete = sorted(set(notes["record"].tolist()) & set(compact_notes["record"].tolist()))
    spans = spans[spans["record"].isin(complete)]
    strata = records.merge(prompts[["record", "kind"]], on="record")[["record", *strata_columns(domain)]]
    strata = strata[strata["record"].isin(complete)]
    splits = split_dataset(split, strata, validation_share=export.validation_share, seed=seed)
    origin = Origin(
        records={name: len(members) for name, members in splits.items()},
        left_out=len(records) - len(complete),
        spans=len(spans),
        written_by=tuple(sorted({*notes["provenance"], *compact_notes["provenance"]})),
        annotated_by=annotated_by,
        seed=seed,
        domain=domain,
    )
    table = dataset_table(records, prompts, notes, compact_notes, spans, domain)
    # The csv module quotes no lone return, after which the rest of a note would be a row.
    normal, compact = (texts.replace(r"\r(?!\n)", "\n", regex=True) for texts in (notes, compact_notes))
    data = {
        "SimSUM.csv": simsum_csv(records, normal, compact, domain).encode(),
        "spans/normal_span_annotations.json": span_json(spans, "normal", complete, domain).encode(),
        "spans/adv_span_annotations.json": span_json(spans, "compact", complete, domain).encode(),
    }
    for name, members in splits.items():
        data[split_path(name)] = _parquet(table.filter(pc.is_in(table["record"], pa.array(members, pa.int64()))))
    visits, left_out = over_time
    for name, own in visits.items():
        plain = pa.Table.from_pandas(own, preserve_index=False).replace_schema_metadata()
        data[visits_path(name)] = _parquet(plain)
    data["README.md"] = dataset_card(export, origin, visits, left_out).encode()
    sums = [f"{hashlib.sha256(contents).hexdigest()}  {path}\n" for path, contents in sorted(data.items())]
    return {**data, CHECKSUMS: "".join(sums).encode()}


def _parquet(table: pa.Table) -> bytes:
    written = BytesIO()
    pq.write_table(table, written, compression="zstd")
    return written.getvalue()


SPLITS = ("train", "validation", "test")
VALIDATION_STREAM = 47


def strata_columns(domain: str) -> list[str]:
    """Columns that validation represents in their proportions: kind of prompt, diagnoses, symptoms."""
    return ["kind", *variables_of(domain, "diagnosis"), *variables_of(domain, "symptom")]


def split_dataset(
    split: pd.DataFrame, strata: pd.DataFrame, *, validation_share: float, seed: int
) -> dict[str, list[int]]:
    """Sorted record ids of each split; a split without records is left out.

    ``split`` is the SPLIT table of the symptom predictors: its test records are the test split, so that published
    results hold for the published split. ``strata`` (record, and the columns of `strata_columns`) lists the records of
    the dataset; ``validation_share`` of them, rounded, are a stratified sample of the others, of which one at least is
    left to train on. Raises TableError for a record of ``strata`` that ``split`` lacks.
    """
    part = strata[["record"]].merge(split, on="record", how="left", validate="one_to_one")["part"]
    if part.isna().any():
        record = strata["record"].to_numpy()[part.isna().to_numpy()][0]
        raise TableError(f"record {record} is in no part of the split; rerun the split stage on these records")
    rest = strata[(part == "train").to_numpy()]
    size = min(round(len(strata) * validation_share), max(len(rest) - 1, 0))
    columns = [name for name in strata.columns if name != "record"]
    chosen = _systematic_sample(rest, columns, size, np.random.default_rng([seed, VALIDATION_STREAM]))
    train = sorted(set(rest["record"].tolist()) - set(chosen))
    test = sorted(strata["record"][(part == "test").to_numpy()].tolist())
    return {name: members for name, members in zip(SPLITS, (train, chosen, test), strict=True) if members}


def _systematic_sample(
    frame: pd.DataFrame, columns: Sequence[str], size: int, generator: np.random.Generator
) -> list[int]:
    """``size`` records at equal steps through the rows sorted by ``columns``, ties in random order.

    Systematic sampling of a sorted list is proportional in each stratum to within one record (Cochran 1977, Chapter 8).
    """
    shuffled = frame.sort_values("record").iloc[generator.permutation(len(frame))]
    ordered = shuffled.sort_values(list(columns), kind="stable")["record"].to_numpy()
    places = np.floor((np.arange(size) + generator.uniform()) * len(ordered) / max(size, 1)).astype(int)
    return sorted(ordered[places].tolist())


_STREAM = 1401


def visit_splits(
    visits: pd.DataFrame,
    dates: pd.Series,
    notes: pd.DataFrame,
    *,
    test_share: float,
    validation_share: float,
    seed: int,
) -> OverTime:
    """Rows of each split that has patients, by patient and visit; and how many patients lack a note and are left out.

    ``visits``: the table of visits, ``dates`` their ISO dates, ``notes``: VISIT_NOTES. The shares are of patients.
    """
    texts = notes[["record", "text", "consistent", "provenance"]].rename(columns={"text": "note"})
    merged = visits.assign(date=dates).merge(texts, on="record", how="left", validate="1:1")
    lacking = merged.groupby("patient")["note"].transform(lambda own: own.isna().any()).astype(bool)
    variables = [name for name in visits.columns if name not in VISIT_HEAD]
    rows = merged.loc[~lacking, [*VISIT_HEAD, *variables, *VISIT_NOTE]].sort_values(["patient", "visit"])
    parts = split_patients(sorted(rows["patient"].unique().tolist()), test_share, validation_share, seed)
    tables = {name: rows[rows["patient"].isin(own)].reset_index(drop=True) for name, own in parts.items()}
    return tables, int(merged.loc[lacking, "patient"].nunique())


def split_patients(patients: list[int], test_share: float, validation_share: float, seed: int) -> dict[str, list[int]]:
    """Patients of each split at random, shares rounded; one at least is left to train on."""
    order = np.random.default_rng([seed, _STREAM]).permutation(patients).tolist()
    test = min(round(len(order) * test_share), max(len(order) - 1, 0))
    held = min(test + round(len(order) * validation_share), max(len(order) - 1, 0))
    parts = dict(zip(SPLITS, (order[held:], order[test:held], order[:test]), strict=True))
    return {name: sorted(own) for name, own in parts.items() if own}
