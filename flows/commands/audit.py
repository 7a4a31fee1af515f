"""Makes the report card of a judge: what it can and cannot do, on cases whose answer is certain."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from schemas.errors import ParamsError, SourceError

if TYPE_CHECKING:
    import pandas as pd

    from flows.evaluation.audit import Audit
    from schemas.params import Params


def main(
    judges: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[JUDGE]...", help="simulator (rules, the default), a role of params.yaml, or MODEL@URL."
        ),
    ] = None,
    cases: Annotated[int, typer.Option(help="Claims; up to 400 are judged in all their variants.")] = 1200,
    tasks: Annotated[
        str | None,
        typer.Option(help="Comma-separated: claims, omissions, citations, answers, consistency (default: all)."),
    ] = None,
    takes: Annotated[int, typer.Option(help="How often the claims with variants are asked, to see what changes.")] = 3,
    texts: Annotated[
        Path | None,
        typer.Option(help="Texts that cases are made of, as `vignette evaluate` reads them (default: notes)."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Other cases for each seed.")] = 1,
    out: Annotated[Path, typer.Option(help="Folder to write, in place of an earlier card.")] = Path("audit"),
    against: Annotated[Path | None, typer.Option(help="Folder of an earlier card on the same cases.")] = None,
    require: Annotated[
        str | None,
        typer.Option(
            help="Least values of metrics, and the most that a change may cost: sensitivity=0.9,instruction=0.02."
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
        float | None, typer.Option(help="Print the human labels for this half width, with and without the judge.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print calls and cost instead; asks no model.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Run whatever it costs, up to the budget.")] = False,
    params: Annotated[
        Path | None, typer.Option(help="Params file (default: that of the clone, else the one that ships).")
    ] = None,
) -> None:
    """Judge cases with a certain answer, and the same with changes that must not matter; write tables and card.html.

    Exit status 2: the judge got worse than on the earlier card, or misses a requirement.
    """
    import pandas as pd

    from flows.evaluation.audit import FORMAT, exported, make_audit, read_card, returned, with_judge
    from flows.evaluation.python import judged
    from flows.runtime.folders import require_replaceable
    from flows.runtime.params import load_params
    from flows.runtime.workspace import be_quiet, params_file

    be_quiet()
    chosen, required = _tasks(tasks), _required(require)
    for option, given in (("--cases", cases), ("--takes", takes)):
        if given < 1:
            raise ParamsError(f"{option} {given}: expected 1 or more")
    if plan is not None and not 0 < plan < 0.5:
        raise ParamsError(f"--plan {plan:g}: expected a half width between 0 and 0.5, for example 0.03")
    if not 0 <= seed < 2**32:
        raise ParamsError(f"--seed {seed}: expected 0 to {2**32 - 1}")
    loaded = load_params(params or params_file()).model_copy(update={"seed": seed})
    earlier = None if against is None else read_card(against)
    audit = make_audit(texts, loaded, cases=cases, tasks=chosen, takes=takes)
    if export is not None:
        _write_cases(export, exported(audit.cases))
        return
    require_replaceable(out, FORMAT)
    if verdicts:
        parts = [returned(file, audit.cases) for file in verdicts]
    else:
        every = [with_judge(loaded, judge) for judge in judges or ["simulator"]]
        if dry_run:
            _print_cost(every, audit)
            return
        parts = [judged(one, audit, confirmed=yes) for one in every]
    together = pd.concat(parts, ignore_index=True)
    source = "notes of the simulator" if texts is None else texts.name
    about = {"texts": len(audit.texts), "source": source, "seed": seed, "tasks": list(audit.tasks), "takes": takes}
    _finish(together, audit.cases, out, earlier, required, about, plan)


def _tasks(given: str | None) -> list[str] | None:
    from flows.evaluation.audit import TASKS

    if given is None:
        return None
    names = [name.strip() for name in given.split(",") if name.strip()]
    if not names or (unknown := [name for name in names if name not in TASKS]):
        raise ParamsError(
            f"--tasks {given}: expected some of {', '.join(TASKS)}" + (f"; found {unknown[0]}" if names else "")
        )
    return names


def _required(given: str | None) -> dict[str, float]:
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
    return found


def _print_cost(every: list[Params], audit: Audit) -> None:
    from flows.evaluation.audit import estimated, verdicts_of
    from flows.runtime.costs import table

    for params in every:
        print(f"{params.roles['judge'].model}:")
        print(table(params, asyncio.run(estimated(params, lambda run: verdicts_of(run, audit)))))


def _write_cases(export: Path, contents: tuple[str, str]) -> None:
    truth = export.with_name(f"{export.stem}-truth{export.suffix}")
    for file, content in zip((export, truth), contents, strict=True):
        if file.exists():
            raise SourceError(f"{file}: exists; name another file, or remove it")
        file.write_text(content, encoding="utf-8")
    print(f"{contents[0].count(chr(10))} cases written to {export}, their truth to {truth}")


def _finish(
    verdicts: pd.DataFrame,
    cases: pd.DataFrame,
    out: Path,
    earlier: pd.DataFrame | None,
    required: dict[str, float],
    about: dict[str, object],
    plan: float | None,
) -> None:
    """Write the card, print it, and exit with 2 for a finding."""
    from flows.evaluation.audit import FORMAT, card_files
    from flows.runtime.folders import write_export
    from tasks.audit.card import against, card_table, failed_requirements, findings
    from tasks.audit.cases import FILLER
    from tasks.audit.correction import label_plans
    from tasks.audit.page import card_page

    card = card_table(verdicts, seed=int(str(about["seed"])))
    try:
        missed = failed_requirements(card, required)
        changes = None if earlier is None else against(verdicts, earlier, seed=int(str(about["seed"])))
    except ValueError as error:
        raise SourceError(str(error)) from error
    made_from = {
        **about,
        "cases": int(cases.loc[cases["task"] != FILLER, "case"].nunique()),
        "judges": sorted(verdicts["judge"].unique()),
    }
    premises = {(row["case"], row["factor"]): row["premise"] for row in cases.to_dict("records")}
    said = findings(card)
    page = card_page(card, verdicts, premises, findings=said, changes=changes, made_from=made_from)
    write_export(out, card_files(verdicts, card, page, made_from), FORMAT)
    _print_card(card, said)
    if plan is not None:
        print("\n".join(["", *label_plans(card, plan)]))
    worse = (
        [] if changes is None else changes[changes["changed"] & (changes["now"] < changes["before"])].to_dict("records")
    )
    lines = [
        f"worse than the earlier card: {row['task']} {row['before']:.3f} -> {row['now']:.3f}, n {row['n']}"
        for row in worse
    ]
    print(
        "\n".join(
            [*lines, *(f"required: {line}" for line in missed), f"\nwritten: {out / 'card.html'}, {out / 'card.csv'}"]
        )
    )
    if lines or missed:
        sys.exit(2)


def _print_card(card: pd.DataFrame, said: list[str]) -> None:
    shown = card[(card["item"] == "all") & card["metric"].isin(["sensitivity", "specificity"])]
    for row in shown.to_dict("records"):
        low_high = f"{row['low']:.3f} to {row['high']:.3f}" if row["low"] == row["low"] else "no interval"
        counts = f"n {row['n']}, unscored {row['unscored']}"
        value = f"{row['metric']:<12} {row['value']:.3f} ({low_high})"
        print(f"{row['system']}  {row['condition']:<20} {value}, {counts}")
    print("\n".join(["", *(said or ["nothing that should not matter changes the judge's answers beyond chance"])]))
