"""Makes the report card of a judge: what it can and cannot do, on cases whose answer is certain."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flows.commands.evaluate import EXAMPLE
from schemas.errors import ParamsError, SourceError, UnscoredError, did_you_mean

if TYPE_CHECKING:
    import pandas as pd

    from flows.evaluation.audit import Audit
    from schemas.params import Params
    from tasks.audit.card import Practice

FEW = 200
"""Claims of the card of the example."""


def main(
    judges: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[JUDGE]...",
            help="MODEL@URL, a role of params.yaml, or simulator (rules, for a dry run), named NAME=JUDGE.",
        ),
    ] = None,
    example: Annotated[
        bool, typer.Option("--example", help="Few cases made of twelve documents that ship, by default the simulator.")
    ] = False,
    cases: Annotated[
        int | None, typer.Option(help="Claims; the other tasks are scaled with them (default: 2,000; example: 200).")
    ] = None,
    tasks: Annotated[
        str | None,
        typer.Option(
            help="Comma-separated tasks (default: all but errors, which people made; these are MEDEC's, outside data)."
        ),
    ] = None,
    takes: Annotated[
        int | None, typer.Option(help="How often claims with variants are asked, to see what changes (default: 3).")
    ] = None,
    texts: Annotated[
        Path | None,
        typer.Option(help="Texts that cases are made of, as `vignette evaluate` reads them (default: notes)."),
    ] = None,
    people: Annotated[
        Path | None,
        typer.Option(help="Folder of outside data with K-QA or PriMock57: agreement with the people who judged these."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Other cases for each seed.")] = 1,
    out: Annotated[
        Path | None, typer.Option(help="Folder to write, in place of an earlier card (default: audit).")
    ] = None,
    against: Annotated[Path | None, typer.Option(help="Folder of an earlier card on the same cases.")] = None,
    require: Annotated[
        str | None,
        typer.Option(
            help="Least values of metrics, and the most that a change may cost: sensitivity=0.9,injection=0.02."
        ),
    ] = None,
    export: Annotated[
        Path | None, typer.Option(help="Write the cases without their truth to this file, and ask nobody.")
    ] = None,
    verdicts: Annotated[
        list[Path] | None,
        typer.Option(help="Verdicts on exported cases, JSON Lines with id and judged; may be repeated."),
    ] = None,
    plan: Annotated[
        int | None,
        typer.Option(help="Items that will be judged: print how certain their share of yes is, by labels of people."),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print calls and cost instead; asks no model.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Run whatever it costs, up to the budget.")] = False,
    params: Annotated[
        Path | None, typer.Option(help="Params file (default: that of the clone, else the one that ships).")
    ] = None,
) -> None:
    """Judge cases with a certain answer, and the same with changes that must not matter; write tables and card.html.

    Exit status 2: the judge got worse than on the earlier card, or misses a requirement; 3: a requirement is open, as
    its limit lies within the interval.
    """
    from flows.repository.params import load_params
    from flows.repository.workspace import be_quiet, params_file
    from tasks.transport.instructions import use_instruction_set

    be_quiet()
    loaded = load_params(params or params_file()).model_copy(update={"seed": seed})
    use_instruction_set(loaded.runtime.instruction_set)  # before the imports below, which load NumPy
    from flows.evaluation.audit import agreement_with_people, judged, judges_of, make_audit, reasons, tasks_of
    from flows.evaluation.cards import FORMAT, card_files, provenance, read_card, stems
    from flows.evaluation.judges import NO_JUDGE, given_name
    from flows.runtime.folders import require_replaceable, write_export
    from tasks.audit.card import card_table

    card_only: dict[str, object] = {
        "--out": out,
        "--against": against,
        "--require": require,
        "--plan": plan,
    }
    asking = {"JUDGE": judges, "--dry-run": dry_run, "--yes": yes, "--takes": takes, "--people": people}
    _refuse("--export", export, {"--verdicts": verdicts, **asking, **card_only})
    _refuse("--verdicts", verdicts, asking)
    asked = not verdicts and export is None
    judges, texts, cases = _given(judges, texts, cases, example=example, asked=asked)
    chosen = tasks_of(texts, _tasks(tasks))
    required = _required(require, chosen)
    _require_numbers(cases, takes, seed, plan)
    earlier, folder = None if against is None else read_card(against), out or Path("audit")
    files = stems(verdicts or [])
    if asked and not judges:
        raise ParamsError(f"JUDGE: no default; {NO_JUDGE}")
    every = judges_of(loaded, judges or []) if asked else []
    if every and not dry_run:
        print(_announced(every, chosen, cases, texts, folder), flush=True)
    audit = make_audit(texts, loaded, cases=cases, tasks=chosen, takes=takes or 3, people=people)
    for reason in reasons(audit, every):
        print(reason, flush=True)
    if export is not None:
        _write_cases(export, audit, loaded)
        return
    require_replaceable(folder, FORMAT)
    if earlier is not None:
        _require_common(audit, earlier)
    if dry_run:
        _print_cost(every, audit)
        return
    given = [given_name(one) for one in judges or []]
    found, taken = (
        judged(every, audit, confirmed=yes, names=given) if every else _returned(files.values(), audit, loaded)
    )
    changes, failure = _compared(found, earlier, folder)
    card, source = card_table(found, taken, seed=seed), "notes of the simulator" if texts is None else texts.name
    made_from = {"source": source, "seed": seed, **provenance(audit, found, every)}
    agreement = agreement_with_people(every, list(taken), audit.people, seed=seed)
    write_export(folder, card_files(card, found, audit.cases, changes, made_from, agreement), FORMAT)
    status = _print_card(card, agreement, taken, changes, required, plan, seed, folder)
    if failure is not None:
        raise failure
    _require_answers(found, taken, loaded.runtime.max_unscored_share)
    if status:
        sys.exit(status)


def _given(
    judges: list[str] | None, texts: Path | None, cases: int | None, *, example: bool, asked: bool
) -> tuple[list[str] | None, Path | None, int]:
    """The judges, the texts and the number of cases, with the defaults of a card or of the example."""
    from flows.evaluation.audit import CLAIMS

    if not example:
        return judges, texts, CLAIMS if cases is None else cases
    _refuse("--example", example, {"--texts": texts})
    return judges or (["simulator"] if asked else None), EXAMPLE, FEW if cases is None else cases


def _announced(every: Sequence[Params], tasks: Sequence[str], cases: int, texts: Path | None, folder: Path) -> str:
    """What an audit is about to do, before anything is asked."""
    from tasks.transport.shown import public_url

    roles = [params.roles["judge"] for params in every]
    models = [f"{role.model} at {public_url(role.base_url)}" for role in roles]
    rules = "the simulator's rules, no language model"
    judges = [rules if role.is_simulator else model for role, model in zip(roles, models, strict=True)]
    source = "notes of the simulator" if texts is None else texts
    return (
        f"judge: {'; '.join(judges)}. Cases: --cases {cases:,} of {source}; tasks {', '.join(tasks)}. "
        f"The card goes to {folder / 'card.html'}"
    )


def _refuse(option: str, chosen: object, others: Mapping[str, object]) -> None:
    """Raise ParamsError for an option that another, if it is chosen, would leave without effect."""
    if given := [name for name, value in others.items() if value and chosen]:
        raise ParamsError(f"{given[0]}: has no effect with {option}; leave one of them out")


def _require_numbers(cases: int, takes: int | None, seed: int, plan: int | None) -> None:
    for option, given in (("--cases", cases), ("--takes", takes)):
        if given is not None and given < 1:
            raise ParamsError(f"{option} {given}: expected 1 or more")
    if plan is not None and not 25 <= plan <= 100_000:
        raise ParamsError(f"--plan {plan}: expected a number of items from 25 to 100000")
    if not 0 <= seed < 2**32:
        raise ParamsError(f"--seed {seed}: expected 0 to {2**32 - 1}")


def _tasks(given: str | None) -> list[str] | None:
    from flows.evaluation.audit import TASKS

    if given is None:
        return None
    names = [name.strip() for name in given.split(",") if name.strip()]
    if not names or (unknown := [name for name in names if name not in TASKS]):
        raise ParamsError(
            f"--tasks {given}: expected some of {', '.join(TASKS)}"
            + (f"; found {unknown[0]}{did_you_mean(unknown[0], TASKS)}" if names else "")
        )
    return names


VERSIONS = "first_of_two_versions"
"""The change of which task errors has the cases."""


def _required(given: str | None, tasks: Sequence[str]) -> dict[str, float]:
    """Limits by metric or change. Raises ParamsError for another name, a number that is no share, or no claims."""
    from tasks.audit.card import CHANGE_NAMES, METRIC_NAMES

    found = {}
    for entry in (given or "").split(","):
        name, _, limit = entry.strip().partition("=")
        if not entry.strip():
            continue
        try:
            found[name] = float(limit)
        except ValueError as error:
            raise ParamsError(
                f"--require {entry.strip()}: expected NAME=NUMBER, for example sensitivity=0.9"
            ) from error
        if not 0 <= found[name] <= 1:
            raise ParamsError(f"--require {entry.strip()}: expected a number from 0 to 1")
        if name not in (*METRIC_NAMES, *CHANGE_NAMES):
            raise ParamsError(
                f"--require {name}: expected a metric ({', '.join(METRIC_NAMES)}) or a change "
                f"({', '.join(CHANGE_NAMES)}){did_you_mean(name, (*METRIC_NAMES, *CHANGE_NAMES))}"
            )
        if name == VERSIONS and "errors" not in tasks:
            raise ParamsError(f"--require {name}: two versions are shown by task errors; add errors to --tasks")
        if name in CHANGE_NAMES and name != VERSIONS and "claims" not in tasks:
            raise ParamsError(f"--require {name}: changes are made to claims; add claims to --tasks")
    return found


def _require_common(audit: Audit, earlier: pd.DataFrame) -> None:
    """Raise SourceError before anything is asked if an earlier card has too few of the claims to tell a change."""
    from tasks.audit.comparisons import against

    cases = audit.cases[audit.cases["metric"] == "claims"]
    known = earlier[earlier["metric"] == "claims"].drop_duplicates(["unit", "condition"])
    if "claims" in audit.tasks:
        try:
            against(cases.assign(judge="", value=1.0), known.assign(judge="", value=1.0))
        except ValueError as error:
            raise SourceError(f"--against: {error}") from error


def _print_cost(every: list[Params], audit: Audit) -> None:
    from flows.commands.estimate import print_lines
    from flows.evaluation.audit import audit_cost

    for params in every:
        print(f"{params.roles['judge'].model}:")
        print_lines(asyncio.run(audit_cost(params, audit)))


def _write_cases(export: Path, audit: Audit, params: Params) -> None:
    from flows.evaluation.audit import all_cases
    from flows.evaluation.cards import exported

    truth = export.with_name(f"{export.stem}-truth{export.suffix}")
    for file in (export, truth):
        if file.exists():
            raise SourceError(f"{file}: exists; name another file, or remove it")
    contents = exported(all_cases(audit, params))
    for file, content in zip((export, truth), contents, strict=True):
        file.write_text(content, encoding="utf-8")
    print(f"{contents[0].count(chr(10))} cases written to {export}, their truth to {truth}")


def _returned(files: Iterable[Path], audit: Audit, params: Params) -> tuple[pd.DataFrame, dict[str, Practice]]:
    """VERDICTS of files on the exported cases; nothing is known of the calls."""
    import pandas as pd

    from flows.evaluation.audit import all_cases
    from flows.evaluation.cards import returned

    cases = all_cases(audit, params)
    return pd.concat([returned(file, cases) for file in files], ignore_index=True), {}


def _compared(
    verdicts: pd.DataFrame, earlier: pd.DataFrame | None, out: Path
) -> tuple[pd.DataFrame | None, SourceError | None]:
    """The changes since an earlier card, or why there is no comparison, which is raised once the card is written."""
    from tasks.audit.comparisons import against

    try:
        return None if earlier is None else against(verdicts, earlier), None
    except ValueError as error:
        return None, SourceError(f"--against: {error}; the card is written to {out}")


def _print_card(
    card: pd.DataFrame,
    agreement: pd.DataFrame,
    taken: Mapping[str, Practice],
    changes: pd.DataFrame | None,
    required: Mapping[str, float],
    plan: int | None,
    seed: int,
    out: Path,
) -> int:
    """Print the card; the exit status: 2 if the judge got worse or misses a requirement, else 3 if one is open."""
    from tasks.audit.card import CHANGE_NAMES, judged_by_models, limits, verdict_lines, weaknesses
    from tasks.audit.comparisons import MISSED, OPEN, change_lines, requirements
    from tasks.audit.correction import label_plans
    from tasks.audit.page import people_tables, rate_tables
    from tasks.reporting.show import terminal

    print("\n".join(verdict_lines(card)))
    for table in [*rate_tables(card), *people_tables(agreement)]:
        print("\n" + terminal(table))
    print("\n".join(["", *weaknesses(card), *limits(card)]))
    for judge, practice in taken.items():
        if practice.failures:
            print(_why(practice, f"{judge}: calls without a usable reply: "))
    if plan is not None:
        print("\n".join(["", *label_plans(card, plan, seed=seed)]))
    tested = None if changes is None else judged_by_models(changes, "judge")
    worse, other = ([], []) if tested is None or tested.empty else change_lines(tested)
    found = requirements(card, required, CHANGE_NAMES)
    said = [*worse, *other, *(f"required, {state}: {line}" for state, line in found)]
    print("\n".join(["", *said, f"written: {out / 'card.html'}, {out / 'card.csv'}"]))
    states = {state for state, _ in found}
    return 2 if worse or MISSED in states else 3 if OPEN in states else 0


def _why(practice: Practice, before: str) -> str:
    """The most frequent reasons of calls without a usable reply, after ``before``; empty where all had one."""
    found = sorted(practice.failures.items(), key=lambda item: -item[1])[:3]
    return before + "; ".join(f"{reason[:200]} ({count} calls)" for reason, count in found) if found else ""


def _require_answers(found: pd.DataFrame, taken: Mapping[str, Practice], allowed: float) -> None:
    """Raise UnscoredError for a model without a verdict on any case, or on more than the share ``allowed``, with why.

    Rules have none on tasks that they do not know. Verdicts from elsewhere may have gaps.
    """
    from tasks.audit.card import judged_by_models

    lines = []
    for judge, own in judged_by_models(found, "judge").groupby("judge", sort=True):
        failed = int(own["value"].isna().sum())
        if failed < len(own) and (judge not in taken or failed <= allowed * len(own)):
            continue
        said = f"{judge}: {failed} of {len(own)} cases have no verdict"
        if failed < len(own):
            said += f", more than runtime.max_unscored_share {allowed:g}"
        lines.append(said + (_why(taken[judge], "; why: ") if judge in taken else ""))
    if lines:
        raise UnscoredError(
            "\n".join(lines) + "\ndoes the model follow instructions and reply in JSON? `vignette store export` writes "
            "its replies"
        )
