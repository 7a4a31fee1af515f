"""Compares judges: precision, recall, calls and cost on planted claims and on human labels."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flows.commands.store import store_path
from flows.repository.params import load_params
from flows.repository.pipeline import maker_of
from flows.repository.workspace import root
from flows.runtime.folders import require_new_file, write_new_file
from schemas.errors import ParamsError, SourceError
from schemas.params.llm import RoleName
from tasks.domains.rules import rules_of

if TYPE_CHECKING:
    import pandas as pd

TABLE, LABELS = "reports/tables/judges.csv", "reports/tables/human_labels.csv"
ROLES: tuple[RoleName, ...] = ("annotator", "judge")
PLANTED = tuple(
    Path("data", file)
    for file in (
        "planted_errors/planted_cases.parquet",
        "planted_errors/assertion_cases.parquet",
        "calibrate/planted_claims.parquet",
        "calibrate/claims_by_judge.parquet",
        "note_qa/planted.parquet",
        "note_qa/questions.parquet",
    )
)
"""Tables with planted truth."""


def main(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[LINEAGE]...", help="Lineages (default: the workspace).")
    ] = None,
    labels: Annotated[
        list[Path] | None, typer.Option(help="CSV with item, judged, label[, cluster]; the file's name is the judge.")
    ] = None,
    rules: Annotated[
        bool, typer.Option("--rules", help="Compare the rules with the models of this tree on the same requests.")
    ] = False,
    out: Annotated[Path | None, typer.Option(help="With --rules: file for the table.")] = None,
) -> None:
    """Print each judge's precision and recall, calls and cost per 1,000 claims, and the errors found by kind.

    Judges are those of each lineage's judges.csv: its judge role, the rules, and the models of calibrate.nli_models.
    Precision and recall are of errors: claims that are not entailed and judged so. Human labels from returned forms and
    files follow, where a lineage has any.
    """
    from flows.lineage.lineage import WORKSPACE
    from flows.runtime.tables import table_bytes
    from tasks.judges.judges_compared import compared_text, judges_text

    if rules:
        require_new_file(out, "vignette judges")
        compared = compare_with_rules()
        if out is not None:
            write_new_file(out, table_bytes(compared), "vignette judges")
        print(compared_text(compared))
        return
    tables = {name: _table(name) for name in names or [WORKSPACE]}
    for file in labels or []:
        tables[str(file)] = _labelled(file, load_params().seed)
    print(judges_text(tables))
    print(
        "errors are the positive cases: sensitivity is the share of errors found, specificity that of the others passed"
    )


def compare_with_rules() -> pd.DataFrame:
    """METRICS of the rules against the models behind the roles that check and judge, on the requests of this lineage.

    Raises ParamsError if only rules check and judge, and SourceError if the tree lacks a table of planted truth.
    """
    from flows.lineage.lineage import current_lineage
    from flows.repository.kept_runs import used_by_all
    from tasks.judges.judges_compared import claim_pairs, compared_rows, known_truth, paired_verdicts, span_agreement
    from tasks.measures.doclens.evaluators import SimulatorEvaluator
    from tasks.transport import inspection

    params = load_params()
    roles = [name for name in ROLES if not params.roles[name].is_simulator]
    if not roles:
        raise ParamsError(f"roles {' and '.join(ROLES)}: only the rules have them, there is no model to compare with")
    with inspection.open_existing(store_path()) as connection:
        lines = map(json.loads, inspection.export(connection, keys=used_by_all(current_lineage().stages)))
        replies = [line for line in lines if line["role"] in roles]
    tables = {file.stem: _planted(file) for file in PLANTED}
    return compared_rows(
        paired_verdicts(replies, rules_of(params.domain).symptom_labels),
        known_truth(tables, rules_of(params.domain).labels),
        claim_pairs(tables["claims_by_judge"], SimulatorEvaluator.label),
        span_agreement(replies),
        model=", ".join(sorted({line["model"] for line in replies})),
        seed=params.seed,
    )


def _planted(file: Path) -> pd.DataFrame:
    import pandas as pd

    if not file.exists():
        raise SourceError(f"{file}: no such file; {maker_of(file)}")
    return pd.read_parquet(file)


def _labelled(file: Path, seed: int) -> pd.DataFrame:
    """Metric rows of one file of human labels. Raises SourceError for a file that `read_labels` refuses."""
    from tasks.judges.human_labels import file_rows

    try:
        return file_rows(file, seed=seed)
    except (OSError, ValueError) as error:
        raise SourceError(str(error)) from error


def _table(name: str) -> pd.DataFrame:
    """The judges of a lineage on planted claims and, in lineages that have it, on human labels."""
    import pandas as pd

    from flows.lineage.lineage import WORKSPACE, find_lineage

    if name == WORKSPACE:
        if not (root() / TABLE).exists():
            raise SourceError(f"{TABLE}: no such file; {maker_of(root() / TABLE)}")
        return pd.concat([pd.read_csv(root() / path) for path in (TABLE, LABELS) if (root() / path).exists()])
    found = find_lineage(name)
    if TABLE not in found.outputs():
        raise SourceError(f"{name}: its lineage has no {TABLE}; it is older than the table of judges")
    return pd.concat([pd.read_csv(found.open_output(path)) for path in (TABLE, LABELS) if path in found.outputs()])
