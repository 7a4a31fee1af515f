"""Imports files that reviewers returned: answers of each kind of form, and labels of verdicts.

Each JSON file names its format; a CSV file holds human labels of a judge's verdicts, and its name is the judge. All
files are checked, together with those imported before, and only then copied to the folder that the stage reads; `dvc
repro` scores them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from unicodedata import normalize

import typer

from flows.repository.params import load_params
from flows.repository.pipeline import MAIN, PUBLISHED, StageFiles, stage_files
from schemas.errors import SourceError
from tasks.transport.untrusted import parse_json

if TYPE_CHECKING:
    import pandas as pd

    from tasks.people.forms import Form, Returned

LABELS = ".csv"
"""Format of files of human labels."""
_KEPT = 60
"""Most characters that a file name keeps of a name."""


def _table(files: StageFiles, stem: str) -> pd.DataFrame:
    from flows.runtime.tables import read_table
    from schemas.tables.registry import schema_of

    return read_table({**files.deps, **files.outs}[stem], schema_of(stem, files.name))


def kinds() -> dict[str, Returned]:
    """Where returned files of a form go, by their format."""
    from tasks.measures.doclens.form import RETURNED as PREFERENCES
    from tasks.measures.med_omit.form import RETURNED as OMISSIONS
    from tasks.measures.note_qa.form import RETURNED as QUESTIONS
    from tasks.people import rating_form, span_form

    forms = (rating_form.RETURNED, PREFERENCES, OMISSIONS, *QUESTIONS, span_form.RETURNED)
    return {one.format: one for one in forms}


def import_(
    files: Annotated[list[Path], typer.Argument(help="Files that reviewers returned.")],
    replace: Annotated[bool, typer.Option("--replace", help="Replace a file of the same rater.")] = False,
) -> None:
    """Check files that reviewers returned and copy them to the folder that their stage reads.

    The kind of form is read from each file. All files are checked, together with those imported before, and nothing is
    copied if one is refused.
    """
    from flows.repository.workspace import workspace
    from flows.runtime.folders import locked

    try:
        with locked(workspace()):  # from the check of what is there until the files are
            imported = import_files(files, replace=replace)
    except SourceError as error:
        more = f"; none of the {len(files)} files was imported" if len(files) > 1 else ""
        raise SourceError(f"{error}{more}") from error
    for path, held in imported.items():
        print(f"imported: {path} ({held})")
    outside = {kind.stem for kind in kinds().values() if kind.outside}
    for of_second in sorted({path.parent.name in outside for path in imported}):
        print(f"now run: vignette repro{f' --pipeline {PUBLISHED}' if of_second else ''}")


def import_files(files: Sequence[Path], *, replace: bool = False) -> dict[Path, str]:
    """Check the files and copy them to the folders of their stages; returns where they went, and what each holds.

    Raises SourceError naming each problem by the file that was given; then nothing is copied.
    """
    from flows.repository.workspace import write_text
    from tasks.judges.human_labels import with_verdicts
    from tasks.people.forms import read_returned

    by_format, names = dict[str, dict[Path, str]](), dict[Path, str]()
    for file in files:
        text = read_returned(file)
        name, names[file] = _recognised(file, text)
        by_format.setdefault(name, {})[file] = with_verdicts(file, text) if name == LABELS else text
    planned: dict[Path, str] = {}
    held: dict[Path, str] = {}
    for name, texts in sorted(by_format.items()):
        kind = kinds().get(name)
        stage, stem = ("human_labels", "labels_returned") if kind is None else (kind.stage, kind.stem)
        declared = stage_files(PUBLISHED if kind is not None and kind.outside else MAIN, stage)
        folder = declared.dep(stem)
        new = {folder / names[file]: file for file in texts}
        if len(new) < len(texts):
            raise SourceError("two of the files have the same form, rater and signature; keep one of them")
        if not replace and (
            there := [f"{file}: already imported as {path}" for path, file in new.items() if path.exists()]
        ):
            raise SourceError(f"{'; '.join(there)}; give --replace to replace it")
        if kind is None:
            counts = _labelled(texts)
        else:
            counts = _answered(kind.form(partial(_table, declared), load_params()), texts, folder, new)
        planned |= {path: texts[file] for path, file in new.items()}
        replaced = {path: ", in place of an earlier file" if path.exists() else "" for path in new}
        held |= {path: counts[file] + replaced[path] for path, file in new.items()}
    for path, text in planned.items():
        write_text(path, text)
    return {path: held[path] for path in planned}


def _answered(form: Form, texts: Mapping[Path, str], folder: Path, new: Collection[Path]) -> dict[Path, str]:
    """How much of the form each file answers. Raises SourceError for a defect, also beside those imported before.

    ``new``: where the files go, in place of those that are there.
    """
    from tasks.people.forms import read_returned, split_by_form

    before = {str(path): read_returned(path) for path in folder.glob("*.json") if path not in new}
    current, _ = split_by_form(before, form.id)
    read = form.read({**current, **{str(file): text for file, text in texts.items()}})
    held = {}
    for file in texts:
        answers = read[str(file)]
        held[file] = f"{len(answers.items):,} of {len(form.records):,} {form.noun}s"
        if not answers.items:
            raise SourceError(f"{file}: {held[file]} are answered; ask for the file again when the form is filled in")
        held[file] += "" if answers.complete else ", not marked as complete"
    return held


def _labelled(texts: Mapping[Path, str]) -> dict[Path, str]:
    """How many items of each file have a label. Raises SourceError for a defect, and for a file without any label."""
    from tasks.judges.human_labels import parse_labels

    held = {}
    for file, text in texts.items():
        try:
            labels = parse_labels(str(file), text)["truth"]
        except ValueError as error:
            raise SourceError(str(error)) from error
        held[file] = f"{labels.notna().sum():,} of {len(labels):,} items have a label"
        if labels.isna().all():
            raise SourceError(f"{file}: {held[file]}; fill in the column label")
    return held


def _recognised(file: Path, text: str) -> tuple[str, str]:
    """Format of a file, and its name in harmless characters: the rater's code and signature, or the name of a sheet."""
    if file.suffix.lower() == LABELS:
        return LABELS, _harmless(file.stem) + LABELS
    named = None
    try:
        content = parse_json(text)
        said = "expected an object, found a list or a single value"
        if isinstance(content, dict):
            named = content.get("format")
            said = f"format is {named!r:.60}"
    except ValueError as error:
        said = f"no JSON: {error}; is it cut off?"
    if not isinstance(named, str) or named not in kinds():
        formats = ", ".join(kinds())
        raise SourceError(
            f"{file}: not a returned file of a form ({said}); expected JSON whose format is one of "
            f"{formats}, or a CSV file of labels"
        )
    parts = [_harmless(str(content.get(key) or "").strip()) for key in ("rater", "signature")]
    return named, "-".join(filter(None, parts)) + ".json"


def _harmless(name: str) -> str:
    """Part of a file name; one that had to be changed ends with a hash, so that no two people share a file.

    Names that differ in spaces and case only are one.
    """
    name = normalize("NFC", " ".join(name.split()))
    safe = "".join(c if c.isascii() and (c.isalnum() or c in "_-") else "_" for c in name)[:_KEPT]
    digest = hashlib.sha256(name.casefold().encode(errors="replace")).hexdigest()[:8]
    return safe if safe == name else f"{safe.lower()}-{digest}"
