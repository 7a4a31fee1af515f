"""Judges which facts of each source its summaries omit. For our notes, the compact note is the summary."""

from collections.abc import Iterable

import pandas as pd

from schemas.params.med_omit import MedOmit
from tasks.evaluation.med_omit.clusters import build_cases
from tasks.evaluation.med_omit.diagnosis_names import DiagnosisNames, Encode, renamed
from tasks.evaluation.med_omit.differential_difference import differential_difference
from tasks.evaluation.med_omit.steps import Case, by_likelihood, differentials, find_omissions
from tasks.evaluation.med_omit.tables import fact_table, omitted_table, unscored_rows
from tasks.llm.calls import Ask

SYSTEM = "compact notes"
DIFFERENTIAL = ["document", "diagnosis", "likelihood"]
DIFFERENCES = ["document", "system", "lost", "added", "shifted"]
Unscored = list[dict[str, str | None]]


async def judge_omissions(
    judge: Ask, sources: dict[str, str], summaries: dict[str, dict[str, str]], params: MedOmit, encode: Encode
) -> tuple[dict[str, pd.DataFrame], Unscored]:
    """Return the tables facts, omitted, differences and differentials, and the unscored rows.

    ``summaries`` maps system -> source key -> text. ``encode`` embeds diagnoses, to recognise renamed ones.
    Differentials are those of the sources: document, diagnosis, likelihood, the most likely first.
    """

    def naming(diagnoses: Iterable[str]) -> DiagnosisNames:
        return DiagnosisNames(tuple(diagnoses), encode, params.same_diagnosis)

    cases = await build_cases(judge, sources, naming)
    facts = fact_table(cases, variant=params.variant)
    unscored = unscored_rows([case.failure for case in cases if case.failure is not None])
    unscored += unscored_rows([failure for case in cases for failure in case.lost_clusters])
    omitted, differences = [], []
    for system, texts in summaries.items():
        judged = [case for case in cases if case.key in texts]
        found, failures = await find_omissions(judge, judged, texts)
        unscored += unscored_rows(failures, system=system)
        omitted.append(omitted_table(facts[facts["document"].isin(texts)], found, system))
        if params.compare_differentials:
            open_texts = {case.key: texts[case.key] for case in judged if case.failure is None}
            made, failures = await differentials(judge, open_texts)
            unscored += unscored_rows(failures, system=system)
            for case in judged:
                if case.key in made:
                    of_summary = renamed(made[case.key], naming(case.differential))
                    difference = differential_difference(case.differential, of_summary)
                    differences.append((case.key, system, *difference.values()))
    table = pd.DataFrame(differences, columns=DIFFERENCES)
    table = table.astype({"document": "str", "system": "str", **dict.fromkeys(DIFFERENCES[2:], float)})
    tables = {"facts": facts, "omitted": pd.concat(omitted, ignore_index=True), "differences": table}
    return {**tables, "differentials": _differentials(cases)}, unscored


def _differentials(cases: Iterable[Case]) -> pd.DataFrame:
    rows = [(case.key, *one) for case in cases if case.failure is None for one in by_likelihood(case.differential)]
    return pd.DataFrame(rows, columns=DIFFERENTIAL, dtype="str")
