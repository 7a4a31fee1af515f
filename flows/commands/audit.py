"""Makes the report card of a judge: what it can and cannot do, on cases whose answer is certain."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flows.commands.evaluate import EXAMPLE, mapped
from schemas.errors import ParamsError, did_you_mean

if TYPE_CHECKING:
    from flows.evaluation.audit import Audit
    from schemas.params import Params

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
    map_: Annotated[
        list[str] | None, typer.Option("--map", help="FIELD=COLUMN of --texts, for example reference=note.")
    ] = None,
    encoding: Annotated[str | None, typer.Option(help="Of --texts that are not UTF-8: windows-1252.")] = None,
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
    from flows.repository.workspace import params_file
    from tasks.transport.instructions import use_instruction_set

    loaded = load_params(params or params_file()).model_copy(update={"seed": seed})
    use_instruction_set(loaded.runtime.instruction_set)  # before the imports below, which load NumPy
    from flows.evaluation import cards
    from flows.evaluation.audit import CLAIMS, agreement_with_people, judged, make_audit, reasons, tasks_of
    from flows.evaluation.judges import NO_JUDGE, given_name, judges_of
    from flows.runtime.folders import require_replaceable, write_export
    from tasks.audit.card import card_table

    card_only: dict[str, object] = {"--out": out, "--against": against, "--require": require, "--plan": plan}
    asking = {"JUDGE": judges, "--dry-run": dry_run, "--yes": yes, "--takes": takes, "--people": people}
    _refuse("--export", export, {"--verdicts": verdicts, **asking, **card_only})
    _refuse("--verdicts", verdicts, asking)
    asked, folder = not verdicts and export is None, out or Path("audit")
    if example:
        _refuse("--example", example, {"--texts": texts, "--map": map_, "--encoding": encoding})
        texts, judges = EXAMPLE, judges or (["simulator"] if asked else None)
    cases = cases if cases is not None else FEW if example else CLAIMS
    chosen = tasks_of(texts, None if tasks is None else [name.strip() for name in tasks.split(",")])
    mapping, made_of = _texts(texts, map_, encoding, example, chosen)
    required = _required(require, chosen)
    _require_numbers(cases, takes, seed, plan)
    earlier, files = None if against is None else cards.read_card(against), cards.stems(verdicts or [])
    if asked and not judges:
        raise ParamsError(f"JUDGE: no default; {NO_JUDGE}")
    every = judges_of(loaded, judges or []) if asked else []
    if every and not dry_run:
        print(_announced(every, chosen, cases, made_of, folder), flush=True)
    audit = make_audit(
        texts, loaded, mapping, cases=cases, tasks=chosen, takes=takes or 3, people=people, encoding=encoding
    )
    for reason in reasons(audit, every):
        print(reason, flush=True)
    if export is not None:
        cards.write_cases(export, audit, loaded)
        return
    require_replaceable(folder, cards.FORMAT)
    cards.require_common(audit, earlier)
    if dry_run:
        _print_cost(every, audit)
        return
    found, taken = (
        judged(every, audit, confirmed=yes, names=[*map(given_name, judges or [])])
        if every
        else cards.returned(files.values(), audit, loaded)
    )
    changes, failure = cards.compared(found, earlier, folder)
    card = card_table(found, taken, seed=seed)
    agreement = agreement_with_people(every, list(taken), audit.people, seed=seed)
    made_from = cards.provenance(audit, found, every, made_of, seed)
    write_export(folder, cards.card_files(card, found, audit.cases, changes, made_from, agreement), cards.FORMAT)
    status = cards.print_card(card, agreement, taken, changes, required, plan, seed, folder)
    if failure is not None:
        raise failure
    cards.require_answers(found, taken, loaded.runtime.max_unscored_share)
    if status:
        sys.exit(status)


def _print_cost(every: Sequence[Params], audit: Audit) -> None:
    """Print the estimate of an audit by each judge."""
    from flows.commands.estimate import print_lines
    from flows.evaluation.audit import audit_cost

    for params in every:
        print(f"{params.roles['judge'].model}:")
        print_lines(asyncio.run(audit_cost(params, audit)))


def _texts(
    texts: Path | None, map_: Sequence[str] | None, encoding: str | None, example: bool, tasks: Sequence[str]
) -> tuple[dict[str, str], str]:
    """Column by field of the texts, and what they are called. Raises ParamsError for options about no file."""
    given = [name for name, value in (("--map", map_), ("--encoding", encoding)) if value]
    if given and texts is None:
        raise ParamsError(f"{given[0]}: has no effect without --texts; name the file that it is about")
    source = "the documents that ship" if example else "notes of the simulator" if texts is None else texts.name
    return mapped(map_ or []), "texts of MEDEC" if tasks == ["errors"] else source


def _announced(every: Sequence[Params], tasks: Sequence[str], cases: int, made_of: str, folder: Path) -> str:
    """What an audit is about to do, before anything is asked."""
    from tasks.transport.shown import public_url

    roles = [params.roles["judge"] for params in every]
    models = [f"{role.model} at {public_url(role.base_url)}" for role in roles]
    rules = "the simulator's rules, no language model"
    judges = [rules if role.is_simulator else model for role, model in zip(roles, models, strict=True)]
    card = folder / "card.html"
    return (
        f"judge: {'; '.join(judges)}. Cases: --cases {cases:,}, made of {made_of}; tasks {', '.join(tasks)}. "
        f"The card goes to {card}{', in place of the one there' if card.exists() else ''}"
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
