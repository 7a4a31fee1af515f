"""Where the clinicians' form is used: on the outputs of an evaluation, and on the compact notes of the default run."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from schemas.params import Params
from tasks.measures.declared import Forms
from tasks.measures.declared import Plan as Evaluated
from tasks.measures.doclens.judging import plain_documents
from tasks.measures.med_omit.clinicians import OmissionForm, agreement_between, agreement_with_judge, omission_form
from tasks.measures.med_omit.judging import SYSTEM, output_parts
from tasks.measures.med_omit.measure import TABLE, scope_of
from tasks.people.forms import Returned
from tasks.texts.document import Document, Tables


def _pages(documents: Sequence[Document], tables: Tables, plan: Evaluated, params: Params) -> dict[str, str]:
    parts = output_parts(plain_documents(documents, plan.citing), scope_of(params.med_omit, plan))
    forms = {system: _of(tables, system, params) for system in plan.systems}
    return {name: form.filled(tables[TABLE], parts.get(name, {}), "clinician") for name, form in forms.items()}


def _of(tables: Tables, system: str, params: Params) -> OmissionForm:
    return omission_form(tables[TABLE], system, params.med_omit.form, seed=params.seed)


def _agreement(system: str, files: Mapping[str, str], tables: Tables, params: Params) -> pd.DataFrame:
    form = _of(tables, system, params)
    about: dict[str, Any] = {"seed": params.seed, "provenance": "clinicians and judge"}
    given = form.validations(files)
    parts = [agreement_with_judge(form.shown, given, **about), agreement_between(given, **about)]
    return pd.concat(parts, ignore_index=True).assign(condition=system)


EVALUATED = Forms("omissions", _pages, _agreement)
RETURNED = (
    Returned(
        OmissionForm.format,
        "med_omit",
        "omissions_returned",
        lambda load, params: omission_form(load("med_omit_judged"), SYSTEM, params.med_omit.form, seed=params.seed),
    ),
)
