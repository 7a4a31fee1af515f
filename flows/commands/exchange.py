"""Writes notes and spans for annotation tools, reads corrections, imports returned forms, publishes the dataset."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from flows.commands.import_forms import import_
from flows.repository.params import load_params
from flows.repository.pipeline import MAIN, maker_of, stage_files
from flows.runtime.folders import require_new_file, write_export, write_new_file
from schemas.errors import SourceError, repeated
from tasks.progress import number_of
from tasks.transport.untrusted import of_form, read_bytes

if TYPE_CHECKING:
    import pandas as pd

    from tasks.exchange.annotated import AnnotatedText, LabelledSpan

Format = Literal["label-studio", "brat"]
Version = Literal["normal", "compact"]

Source = Annotated[Path, typer.Argument(help="File of the format; for brat its folder.")]
Out = Annotated[Path, typer.Option(help="Folder to write; an unchanged earlier export is replaced.")]
Dataset = Annotated[
    Path | None, typer.Option(help="Folder of an exported dataset, also outside a clone (default: the last run).")
]


def write(
    to: Annotated[Format, typer.Argument(help="Format of the files.")],
    out: Out,
    version: Annotated[Version, typer.Option(help="Which version of the notes.")] = "normal",
    dataset: Dataset = None,
) -> None:
    """Write notes with their extracted spans into a folder."""
    from tasks.exchange.brat import write_brat
    from tasks.exchange.label_studio import labelling_config, write_tasks

    texts = extracted_texts(version, dataset)
    if to == "brat":
        files = write_brat(texts)
    else:
        labels = sorted({span.label for text in texts for span in text.spans})
        tasks = write_tasks(texts, annotated_by="vignette")
        files = {"tasks.json": tasks, "labelling_config.xml": labelling_config(labels)}
    write_export(out, {name: content.encode() for name, content in files.items()}, f"{to} {version}")
    spans = number_of(sum(len(text.spans) for text in texts), "span")
    print(f"{number_of(len(texts), 'note')} with {spans} written to {out}")


def read(
    source: Source,
    form: Annotated[Format, typer.Argument(metavar="FORMAT", help="Format of the source.")],
    out: Annotated[Path, typer.Option(help="Table of the corrected spans, .csv or .parquet.")],
    dataset: Dataset = None,
) -> None:
    """Read corrected spans, check them against the notes that were written, and write them as a table."""
    from flows.runtime.folders import defused
    from flows.runtime.tables import check, table_bytes
    from schemas.tables.columns import NOTE_VERSIONS
    from schemas.tables.records import CORRECTED_SPANS

    require_new_file(out, "vignette exchange read")
    ours = {text.name: text for version in NOTE_VERSIONS for text in extracted_texts(version, dataset)}
    labels = sorted({span.label for text in ours.values() for span in text.spans})
    returned, unread = read_files(form, source, labels)
    for text in returned:
        if text.name not in ours or ours[text.name].text != text.text:
            of = dataset or "the last run"
            raise SourceError(f"{source}: {text.name} is not a note of {of}; write the notes again and use those")
    table = check(spans_table(returned), CORRECTED_SPANS, str(source))
    shown = defused(table) if out.suffix == ".csv" else table
    write_new_file(out, table_bytes(shown, out.suffix), "vignette exchange read")
    extracted = {(t.name, *span.place): span.assertion for t in returned for span in ours[t.name].spans}
    kept = {(t.name, *span.place): span.assertion for t in returned for span in t.spans}
    both = extracted.keys() & kept.keys()
    print(
        f"{number_of(len(returned), 'note')}: of {number_of(len(extracted), 'extracted span')} {len(both)} kept and "
        f"{len(extracted) - len(both)} removed, moved or relabelled; new: {len(kept) - len(both)}; "
        f"with a changed assertion: {sum(extracted[span] != kept[span] for span in both)}; written to {out}"
    )
    if unread:
        print("not read: " + ", ".join(f"{name} ({count})" for name, count in sorted(Counter(unread).items())))


def extracted_texts(version: str, dataset: Path | None = None) -> list[AnnotatedText]:
    """The notes of a version with their spans, of the dataset or the last run; named ``<record>-<version>``."""
    if dataset is not None:
        return _dataset_texts(dataset, version)
    _require_run()
    from flows.runtime.tables import read_table
    from schemas.tables.records import SPANS
    from schemas.tables.registry import schema_of
    from tasks.exchange.annotated import annotated

    files = stage_files(Path("dvc.yaml"), "span")
    stem, column = ("notes", "note") if version == "normal" else ("compact_notes", "compact")
    table = read_table(files.dep(stem), schema_of(stem)).sort_values("record")
    notes = dict(zip(table["record"].astype(int), table[column].astype(str), strict=True))
    spans = read_table(files.out("spans"), SPANS)
    by_record: dict[int, list[LabelledSpan]] = {}
    for row in spans[spans["version"] == version].to_dict("records"):
        by_record.setdefault(int(row["record"]), []).append(_labelled(row))
    return [annotated(f"{record}-{version}", text, by_record.get(record, [])) for record, text in notes.items()]


def _dataset_texts(dataset: Path, version: str) -> list[AnnotatedText]:
    from tasks.dataset.fields import NOTE, read_dataset, split_path
    from tasks.exchange.annotated import annotated
    from tasks.texts.files import bounded_table

    column = NOTE[version]
    with of_form(str(dataset), "not an exported dataset"):
        for file in dataset.glob(split_path("*")):
            with suppress(OSError):  # damaged; the next line says so
                bounded_table(file)
        rows = read_dataset(dataset).select(["record", column, f"{column}_spans"]).to_pylist()
        texts = [
            annotated(f"{int(row['record'])}-{version}", row[column], [*map(_labelled, row[f"{column}_spans"])])
            for row in rows
        ]
    _require_different(dataset, texts)
    return texts


def _labelled(span: Mapping[Any, Any]) -> LabelledSpan:
    from tasks.exchange.annotated import LabelledSpan

    said = span["assertion"] if isinstance(span["assertion"], str) else ""
    return LabelledSpan(int(span["start"]), int(span["end"]), str(span["symptom"]), said)


def _require_run(instead: str = "name an exported dataset with --dataset FOLDER") -> None:
    """Raises SourceError outside a clone, which has no last run; ``instead``: what to do."""
    if not MAIN.is_file():
        raise SourceError(f"no clone of vignette here, so there is no last run; {instead}")


def spans_table(texts: Sequence[AnnotatedText]) -> pd.DataFrame:
    """CORRECTED_SPANS of the texts: a row a span, and a row without a symptom for a note without spans."""
    import pandas as pd

    from schemas.tables.records import CORRECTED_SPANS

    rows = []
    for text in texts:
        record, version = text.name.rsplit("-", 1)
        for span in text.spans or (None,):
            place = (span.start, span.end, text.text[span.start : span.end]) if span else (0, 0, "")
            said = (span.assertion or None) if span else None
            rows.append((int(record), version, span.label if span else None, *place, said))
    columns = list(CORRECTED_SPANS.columns)
    table = pd.DataFrame(rows, columns=columns).sort_values(["record", "version", "start", "end"], ignore_index=True)
    return table.astype({"record": "int64", "start": "int64", "end": "int64", "symptom": "str", "assertion": "str"})


def read_files(form: Format, source: Path, labels: Sequence[str]) -> tuple[list[AnnotatedText], list[str]]:
    """The annotated texts in files of a format, and what is not read; a byte order mark is no part of a text.

    Raises SourceError.
    """
    from tasks.exchange.brat import read_brat
    from tasks.exchange.label_studio import read_export

    try:
        if form == "brat":
            files = [file for file in sorted(source.iterdir()) if file.suffix.lower() in (".txt", ".ann")]
            found, unread = read_brat({file.stem + file.suffix.lower(): _text(file) for file in files}, labels)
        else:
            found, unread = read_export(_text(source), labels)
    except (OSError, ValueError) as error:
        raise SourceError(f"{source}: cannot be read ({error}); expected {form} files in UTF-8") from error
    except SourceError as error:
        raise error if str(error).startswith(str(source)) else SourceError(f"{source}: {error}") from error
    if not found:
        raise SourceError(f"{source}: no annotated text; expected submitted annotations in {form} files")
    _require_different(source, found)
    return found, unread


def _require_different(source: Path, texts: Sequence[AnnotatedText]) -> None:
    if (name := repeated(text.name for text in texts)) is not None:
        raise SourceError(f"{source}: {name} is there more than once; keep one")


def _text(file: Path) -> str:
    return read_bytes(file).decode("utf-8-sig")  # read_text would turn \r\n into \n and move every span


def publish(
    repository: Annotated[
        str, typer.Argument(metavar="NAMESPACE/NAME", help="Hugging Face dataset repository to commit to.")
    ],
    public: Annotated[bool, typer.Option("--public", help="Create the repository public instead of private.")] = False,
) -> None:
    """Push the dataset of the last run to Hugging Face."""
    from tasks.dataset.release import open_points, push_dataset, require_publishable

    _require_run("run this in a clone, after vignette repro")
    export = load_params().export
    folder = stage_files(MAIN, "export").out("dataset")
    if not folder.is_dir():
        raise SourceError(f"{folder}: no such folder; {maker_of(folder)}")
    paths = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    files = {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}
    require_publishable(files, export)
    print(f"pushed: {push_dataset(files, repository, message=f'{export.name} {export.version}', public=public)}")
    for point in open_points(export):
        print(f"before you make it public: {point}")


SUBCOMMANDS: list[Callable[..., None]] = [write, read, import_, publish]
