"""Forms in which clinicians check the omissions of each system, and their agreement with the judge."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd

from flows.evaluation.work import Evaluation
from schemas.errors import SourceError
from schemas.params.med_omit import FormSample
from tasks.evaluation.documents.judging import whole_outputs
from tasks.evaluation.med_omit.dialogues import subjective_parts
from tasks.evaluation.med_omit.validation_agreement import agreement_between, agreement_with_judge
from tasks.evaluation.med_omit.validation_form import Sample, form_facts, read_validations, render_validation_form


def form_files(evaluation: Evaluation, size: FormSample, *, seed: int) -> dict[str, bytes]:
    """A form for each system, by file name. Raises SourceError where MED-OMIT was not chosen."""
    summaries = _summaries(evaluation)
    files = {}
    for number, system in enumerate(evaluation.systems, 1):
        facts = _facts(evaluation)
        sample, differentials = _sample(evaluation, system, size, seed), evaluation.table("differentials")
        html = render_validation_form(sample, facts, differentials, summaries.get(system, {}), "clinician")
        files[f"forms/omissions_{number}.html"] = html.encode()
    return files


def require_files(returned: Sequence[tuple[str, Path]]) -> None:
    """Raises SourceError for a returned form that is no file, before anything is judged."""
    for system, path in returned:
        if not path.is_file():
            raise SourceError(f"--returned {system}={path}: no such file")


def clinicians_agreement(
    evaluation: Evaluation, returned: Sequence[tuple[str, Path]], size: FormSample, *, seed: int
) -> pd.DataFrame:
    """METRICS of the agreement of clinicians with the judge and with each other, by system.

    ``returned``: system and file of each returned form. Raises SourceError for an unknown system or another form.
    """
    files: dict[str, dict[str, str]] = {}
    for system, path in returned:
        if system not in evaluation.systems:
            raise SourceError(f"--returned {system}={path}: no such system; expected {', '.join(evaluation.systems)}")
        try:
            files.setdefault(system, {})[path.name] = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise SourceError(f"{path}: cannot be read ({error})") from error
    rows = [_agreement(evaluation, system, texts, size, seed) for system, texts in files.items()]
    return pd.concat(rows, ignore_index=True)


def _agreement(
    evaluation: Evaluation, system: str, files: Mapping[str, str], size: FormSample, seed: int
) -> pd.DataFrame:
    shown = _sample(evaluation, system, size, seed).shown
    given = read_validations(files, shown)
    made_by = "clinicians and judge"
    parts = [
        agreement_with_judge(shown, given, seed=seed, provenance=made_by),
        agreement_between(given, seed=seed, provenance=made_by),
    ]
    return pd.concat(parts, ignore_index=True).assign(condition=system)


def _facts(evaluation: Evaluation) -> pd.DataFrame:
    if "facts" not in evaluation.tables:
        raise SourceError("forms show the facts of MED-OMIT; add med_omit to --metrics")
    table = evaluation.table("facts").drop(columns=["system", "omitted"])
    return table.drop_duplicates(["document", "fact"], ignore_index=True)


def _sample(evaluation: Evaluation, system: str, size: FormSample, seed: int) -> Sample:
    return form_facts(_facts(evaluation), evaluation.table("facts"), system, size, seed=seed)


def _summaries(evaluation: Evaluation) -> dict[str, dict[str, str]]:
    """What was judged, by system and document."""
    documents, work = evaluation.documents, evaluation.work
    if work.scope == "history":
        return subjective_parts(documents, {document.id for document in documents})
    return whole_outputs(documents, work.citing)
