"""Imports files that reviewers returned: ratings, questions, omissions, spans, and labels of verdicts.

Each JSON file names its format; a CSV file holds human labels of a judge's verdicts, and its name is the judge. All
files are checked, together with those imported before, and only then copied to the folder that the stage reads; `dvc
repro` scores them.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from flows.engine.params import load_params
from flows.engine.pipeline import stage_files
from flows.engine.tables import read_table, write_atomically
from schemas.errors import SourceError
from schemas.tables.evaluation import FACTS, OMITTED
from schemas.tables.note_qa import QUESTIONS
from schemas.tables.review import REVIEW_NOTES
from schemas.tables.span_review import SPAN_REVIEW_NOTES
from schemas.tables.spans import SPANS
from tasks.domains.rules import load_rules
from tasks.evaluation.calibration.human_labels import parse_labels
from tasks.evaluation.expert_review.draw import form_id as draw_id
from tasks.evaluation.expert_review.form import FORMAT as RATINGS_FORMAT
from tasks.evaluation.expert_review.returned import read_returned
from tasks.evaluation.forms.older import split_by_form
from tasks.evaluation.med_omit.judging import SYSTEM
from tasks.evaluation.med_omit.validation_form import FORMAT as OMISSIONS_FORMAT
from tasks.evaluation.med_omit.validation_form import form_facts, read_validations
from tasks.evaluation.med_omit.validation_form import form_id as facts_id
from tasks.evaluation.note_qa.question_review import FORMAT as QUESTIONS_FORMAT
from tasks.evaluation.note_qa.question_review import OUTSIDE_FORMAT, read_question_reviews
from tasks.evaluation.note_qa.question_review import form_id as questions_id
from tasks.evaluation.span_review.form import FORMAT as SPANS_FORMAT
from tasks.evaluation.span_review.form import form_id as spans_id
from tasks.evaluation.span_review.returned import read_span_reviews

PIPELINE = Path("dvc.yaml")
PUBLISHED = Path("reports/published/dvc.yaml")
LABELS = ".csv"
"""Format of files of human labels."""
_STAGES = {
    LABELS: ("human_labels", "labels_returned"),
    RATINGS_FORMAT: ("review", "review_returned"),
    QUESTIONS_FORMAT: ("note_qa", "questions_returned"),
    OUTSIDE_FORMAT: ("note_qa_outside", "outside_questions_returned"),
    OMISSIONS_FORMAT: ("med_omit", "omissions_returned"),
    SPANS_FORMAT: ("span_review", "spans_returned"),
}
"""Stage that reads the returned files of a format, and the stem of its folder."""

_QUESTIONS = {QUESTIONS_FORMAT: "generated_questions", OUTSIDE_FORMAT: "written_questions"}
"""Stem of the questions on a form."""


def main(
    files: Annotated[list[Path], typer.Argument(help="Files that reviewers returned.")],
    replace: Annotated[bool, typer.Option("--replace", help="Replace a file of the same rater.")] = False,
) -> None:
    """Check files that reviewers returned and copy them to the folder that their stage reads.

    The kind of form is read from each file. All files are checked, together with those imported before, and nothing is
    copied if one is refused.
    """
    for path in import_files(files, replace=replace):
        print(f"imported: {path}")
    print("now run: dvc repro")


def import_files(files: Sequence[Path], *, replace: bool = False, pipeline: Path = PIPELINE) -> list[Path]:
    """Check the files and copy them to the folders of their stages; returns where they went.

    Raises SourceError naming each problem; then nothing is copied.
    """
    texts = {file: _read(file) for file in files}
    formats = {file: _format(file, text) for file, text in texts.items()}
    planned: dict[Path, str] = {}
    for kind in sorted(set(formats.values())):
        stage, stem = _STAGES[kind]
        folder = stage_files(_pipeline(kind, pipeline), stage).dep(stem)
        new = {folder / _name(file, texts[file]): texts[file] for file, found in formats.items() if found == kind}
        if len(new) < sum(found == kind for found in formats.values()):
            raise SourceError("two of the files have the same form, rater and signature; keep one of them")
        if not replace and (there := [str(path) for path in new if path.exists()]):
            raise SourceError(f"already imported: {', '.join(there)}; give --replace to replace them")
        pattern = "*.csv" if kind == LABELS else "*.json"
        before = {path: path.read_text(encoding="utf-8") for path in folder.glob(pattern) if path not in new}
        _check(kind, pipeline, {path.name: text for path, text in new.items()}, {p.name: t for p, t in before.items()})
        planned |= new
    for path, text in planned.items():
        write_atomically(path, lambda to, text=text: to.write_text(text, encoding="utf-8"))  # type: ignore[misc]
    return list(planned)


def _pipeline(kind: str, main: Path) -> Path:
    """The dvc.yaml of the stage that reads a format."""
    return PUBLISHED if kind == OUTSIDE_FORMAT else main


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SourceError(f"{file}: cannot be read ({error})") from error


def _format(file: Path, text: str) -> str:
    if file.suffix.lower() == LABELS:
        return LABELS
    try:
        named = json.loads(text)["format"]
    except (ValueError, KeyError, TypeError):
        named = None
    if not isinstance(named, str) or named not in _STAGES:
        raise SourceError(
            f"{file}: not a returned file of a form; expected JSON whose format is one of {list(_STAGES)[1:]}, or a "
            "CSV file of labels"
        )
    return named


def _name(file: Path, text: str) -> str:
    """A file name of harmless characters: the rater's code and signature or, for labels, the file's name."""
    if file.suffix.lower() == LABELS:
        return _harmless(file.stem) + LABELS
    content = json.loads(text)
    named = [_harmless(str(content.get(key) or "").strip()) for key in ("rater", "signature")]
    return "-".join(part for part in named if part) + ".json"


def _harmless(name: str) -> str:
    return "".join(c if c.isascii() and (c.isalnum() or c in "_-") else "_" for c in name)[:60]


def _check(kind: str, pipeline: Path, new: dict[str, str], before: dict[str, str]) -> None:
    """Check new files together with those of the same form that were imported before."""
    stage, _ = _STAGES[kind]
    if kind == LABELS:
        _check_labels(new)
        return
    declared, params = stage_files(_pipeline(kind, pipeline), stage), load_params()
    if kind == RATINGS_FORMAT:
        drawn = read_table(declared.out("review_notes"), REVIEW_NOTES)
        files = {**split_by_form(before, draw_id(drawn))[0], **new}
        read_returned(files, drawn, params.review.raters)
    elif kind in (QUESTIONS_FORMAT, OUTSIDE_FORMAT):
        questions = read_table(declared.out(_QUESTIONS[kind]), QUESTIONS)
        read_question_reviews({**split_by_form(before, questions_id(questions))[0], **new}, questions, kind)
    elif kind == SPANS_FORMAT:
        drawn = read_table(declared.out("span_review_notes"), SPAN_REVIEW_NOTES)
        spans = read_table(declared.dep("spans"), SPANS)
        files = {**split_by_form(before, spans_id(drawn, spans))[0], **new}
        read_span_reviews(files, drawn, spans, load_rules().symptoms)
    else:
        facts, omitted = read_table(declared.out("facts"), FACTS), read_table(declared.out("omitted"), OMITTED)
        shown = form_facts(facts, omitted, SYSTEM, params.med_omit.form, seed=params.seed).shown
        read_validations({**split_by_form(before, facts_id(shown))[0], **new}, shown)


def _check_labels(files: dict[str, str]) -> None:
    for name, text in files.items():
        try:
            parse_labels(name, text)
        except ValueError as error:
            raise SourceError(str(error)) from error
