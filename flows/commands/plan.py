"""Plans a study before it is paid for: notes, questions, takes, raters and dollars for a target."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from schemas.errors import ParamsError, did_you_mean

if TYPE_CHECKING:
    from schemas.params import Params
    from tasks.planning.components import Components
    from tasks.statistics.intervals import Bounds

STUDIES = ("evaluate", "systems", "lineages", "forms", "audit")
_DOCLENS = {"system": "compact notes", "metric": "claim_recall", "item": "all"}
STORED = {
    "evaluate": ("doclens", _DOCLENS),
    "systems": ("doclens", _DOCLENS),
    "lineages": ("doclens", _DOCLENS),
    "audit": ("calibration", {"condition": "entailment", "metric": "sensitivity", "item": "all"}),
}
"""Row of the clone's own tables that a study is planned from where nothing else is given."""


def main(
    study: Annotated[
        str,
        typer.Argument(
            help="evaluate (a mean), systems (two on the same notes), lineages, forms (people) or audit (a judge)."
        ),
    ],
    pilot: Annotated[
        Path | None, typer.Option(help="Scores: document, score; question, take, rater, system where they vary.")
    ] = None,
    map_: Annotated[list[str] | None, typer.Option("--map", help="FIELD=COLUMN of the pilot: score=judged.")] = None,
    where: Annotated[list[str] | None, typer.Option(help="COLUMN=VALUE: only these rows of the pilot.")] = None,
    components: Annotated[str | None, typer.Option(help="Variances instead: note=0.02,question=0.1,take=0.05.")] = None,
    mean: Annotated[float, typer.Option(help="Mean score that goes with --components.")] = 0.5,
    table: Annotated[str | None, typer.Option(help="Table of reports/tables to take the variance from.")] = None,
    metric: Annotated[str | None, typer.Option(help="Row of the table.")] = None,
    system: Annotated[str | None, typer.Option(help="Row of the table, or system of the pilot.")] = None,
    condition: Annotated[str | None, typer.Option(help="Row of the table.")] = None,
    item: Annotated[str | None, typer.Option(help="Row of the table.")] = None,
    systems: Annotated[str | None, typer.Option(help="Two systems of the pilot that are compared: A,B.")] = None,
    bounds: Annotated[str, typer.Option(help="Least and largest score, 1,5 or 0,inf; or none.")] = "0,1",
    half_width: Annotated[float | None, typer.Option(help="Target: half the width of the 95% interval.")] = None,
    difference: Annotated[float | None, typer.Option(help="Target: a difference that is found.")] = None,
    power: Annotated[float, typer.Option(help="With this probability.")] = 0.8,
    family: Annotated[int, typer.Option(help="Tests that share the level of 5%.")] = 1,
    independent: Annotated[bool, typer.Option("--independent", help="Lineages with different records.")] = False,
    correlation: Annotated[
        float, typer.Option(help="Of two systems' scores of a note, where the pilot has one system.")
    ] = 0.0,
    notes: Annotated[str | None, typer.Option(help="Numbers of notes to show: 50,100 (default: as needed).")] = None,
    questions: Annotated[str, typer.Option(help="Questions, claims or cases of a note to try: 1,4.")] = "1",
    takes: Annotated[str, typer.Option(help="Repeated judgements to try: 1,3,5.")] = "1",
    raters: Annotated[str, typer.Option(help="People who judge every note: 1,2,3.")] = "1",
    judge: Annotated[str | None, typer.Option(help="Whose price counts, as in audit (default: role judge).")] = None,
    tokens: Annotated[str | None, typer.Option(help="Tokens of a judgement, sent and received: 1500,200.")] = None,
    counted: Annotated[str | None, typer.Option(help="Stage whose counted requests are the price.")] = None,
    like: Annotated[
        Path | None, typer.Option(help="Texts that a rehearsal with the simulator counts tokens on.")
    ] = None,
    label_price: Annotated[float, typer.Option(help="Dollars for an item that a person judges.")] = 0.0,
    note_price: Annotated[float, typer.Option(help="Dollars for a note, beside its judgements.")] = 0.0,
    csv: Annotated[Path | None, typer.Option(help="File to write the table to.")] = None,
    params: Annotated[Path | None, typer.Option(help="Params file (default: params.yaml of the clone).")] = None,
) -> None:
    """Print designs that reach a half width or find a difference, with their cost, the cheapest marked."""
    from flows.evaluation.judges import with_judge
    from flows.evaluation.planning import given, of_systems, of_table, read_pilot
    from flows.repository.params import load_params
    from flows.repository.workspace import be_quiet, params_file
    from flows.runtime.folders import require_new_file, write_new_file
    from flows.runtime.tables import table_bytes
    from tasks.planning.designs import Study
    from tasks.planning.plan import Grid, Prices, Target, alternatives
    from tasks.planning.report import lines

    be_quiet()
    require_new_file(csv, "vignette plan")
    _require(study, difference, family, power, half_width, label_price, note_price)
    limits = _bounds(bounds)
    keys = {"metric": metric, "system": system, "condition": condition, "item": item}
    pair = _names(systems)
    compared = study in ("systems", "lineages") or bool(pair)
    _require_informative(half_width, limits, bounds, compared)
    if difference is not None and not compared:
        raise ParamsError(f"--difference: {study} estimates one mean; plan systems or lineages, or name --systems A,B")
    rows = None
    if pilot is not None:
        every = read_pilot(pilot, _pairs(map_, "--map"), _pairs(where, "--where"), limits)
        found, rows, about = of_systems(every, pilot, system, pair if compared else None, independent=independent)
    elif components is not None:
        found, about = given(components, 0.0 if compared else mean), "given components, taken as certain"
    else:
        name, row = _stored(study, table)
        found, about = of_table(name, row | {key: value for key, value in keys.items() if value is not None}, limits)
    if compared and components is None and (rows is None or not rows.paired):
        found, more = _doubled(found, correlation, independent)
        about += more
    pooled = study in ("audit", "forms")
    width = None if limits is None or not (pooled or limits == (0.0, 1.0)) else limits[1] - limits[0]
    span = None if width is None else (-width, width)  # other scores of lineages are compared on the scale of counts
    planned = Study(found, span if compared else limits, compared, independent, pooled, family)
    loaded = load_params(params or params_file())
    loaded = loaded if judge is None else with_judge(loaded, judge)
    prices = Prices(note_price, _judgement_price(study, loaded, tokens, counted, like), label_price)
    grid = Grid(_numbers(questions, "--questions"), _numbers(takes, "--takes"), _numbers(raters, "--raters"),
                _numbers(notes, "--notes") if notes else ())  # fmt: skip
    target = Target(half_width, difference, power)
    try:
        made = alternatives(planned, target, grid, prices)
    except ValueError as error:
        raise ParamsError(str(error)) from error
    priced = "people" if study == "forms" else _said(loaded)
    print("\n".join(lines(planned, target, made, rows, about, priced)))
    if csv is not None:
        write_new_file(csv, table_bytes(made), "vignette plan")
        print(f"written: {csv}")


def _require(
    study: str, difference: float | None, family: int, power: float, half_width: float | None, *prices: float
) -> None:
    if study not in STUDIES:
        raise ParamsError(f"{study}: no such study; expected one of {', '.join(STUDIES)}{did_you_mean(study, STUDIES)}")
    if not 0 < power < 1:
        raise ParamsError(f"--power {power:g}: expected a probability between 0 and 1")
    if family < 1:
        raise ParamsError(f"--family {family}: expected 1 or more")
    for name, value in (("--difference", difference), ("--half-width", half_width)):
        if value is not None and not 0 < value < float("inf"):
            raise ParamsError(f"{name} {value:g}: expected a number above 0")
    if min(prices) < 0:
        raise ParamsError("--label-price, --note-price: expected dollars from 0 up")


def _require_informative(half_width: float | None, limits: Bounds | None, bounds: str, compared: bool) -> None:
    """Raises ParamsError for a half width that any interval has within the limits of a score or a difference."""
    if half_width is None or limits is None:
        return
    widest = (limits[1] - limits[0]) / (1 if compared else 2)
    if half_width >= widest:
        raise ParamsError(
            f"--half-width {half_width:g}: no interval within --bounds {bounds} is wider; expected less than "
            f"{widest:g}, such as {widest / 20:g}"
        )


def _bounds(text: str) -> Bounds | None:
    if text == "none":
        return None
    try:
        least, most = (float(part) for part in text.split(","))
    except ValueError as error:
        raise ParamsError(f"--bounds {text}: expected two numbers such as 0,1, or none") from error
    if not float("-inf") < least < most:
        raise ParamsError(f"--bounds {text}: expected the smaller one first")
    return least, most


def _numbers(text: str, option: str) -> tuple[int, ...]:
    try:
        found = tuple(sorted({int(part) for part in text.split(",")}))
    except ValueError as error:
        raise ParamsError(f"{option} {text}: expected whole numbers such as 1,3,5") from error
    least = 2 if option == "--notes" else 1
    if found[0] < least or found[-1] > 100_000:
        raise ParamsError(f"{option} {text}: expected numbers from {least} to 100000")
    return found


def _names(text: str | None) -> tuple[str, ...]:
    found = tuple(part.strip() for part in (text or "").split(",") if part.strip())
    if len(found) not in (0, 2):
        raise ParamsError(f"--systems {text}: expected two names, A,B")
    return found


def _pairs(entries: list[str] | None, option: str) -> dict[str, str]:
    found = {}
    for entry in entries or []:
        name, equals, value = entry.partition("=")
        if not equals or not name:
            raise ParamsError(f"{option} {entry}: expected NAME=VALUE")
        found[name] = value
    return found


def _doubled(one: Components, correlation: float, independent: bool) -> tuple[Components, str]:
    """The components of the difference of two systems like ``one``, and what is said of them."""
    if not -1 < correlation < 1:
        raise ParamsError(f"--correlation {correlation:g}: expected a number between -1 and 1")
    if independent:
        return one, ""
    return one.doubled(correlation), f"; two systems like it, correlation {correlation:g} (a pilot with both says more)"


def _stored(study: str, table: str | None) -> tuple[str, dict[str, str]]:
    """The table of the clone's reports/tables that a study is planned from, and keys of its row."""
    from flows.repository.workspace import clone

    if clone() is None:
        raise ParamsError(
            f"{study}: a plan needs a variance: --pilot FILE (scores of some documents), --components note=0.02,... "
            "(docs/plan.md), or, in a clone, a row of its tables with --table"
        )
    if table is not None:
        return table, {}
    if study not in STORED:
        raise ParamsError(f"{study}: give --pilot, --components or --table; no table here holds labels of people")
    return STORED[study]


def _judgement_price(study: str, params: Params, tokens: str | None, counted: str | None, like: Path | None) -> float:
    """Dollars of a judgement by the judge; nan where they are not known."""
    by_people = study == "forms" and not tokens
    if counted is None and (by_people or params.roles["judge"].is_simulator):
        return 0.0
    from flows.evaluation import estimate  # it takes seconds to import

    if tokens is not None:
        return estimate.price_of_tokens(params, _tokens(tokens))
    if counted is not None:
        return estimate.price_of_stage(params, counted)
    if study == "audit":
        return estimate.price_of_audit(params, like)
    if like is None:
        return float("nan")
    from flows.commands.evaluate import checked

    return estimate.price_of_documents(params, checked({"data": str(like), "metrics": ["doclens"]}))


def _said(params: Params) -> str:
    role = params.roles["judge"]
    return f"judge {role.model}" + (", the simulator's rules, which cost nothing" if role.is_simulator else "")


def _tokens(text: str) -> tuple[int, int]:
    try:
        sent, received = (int(part) for part in text.split(","))
    except ValueError as error:
        raise ParamsError(f"--tokens {text}: expected tokens sent and received, such as 1500,200") from error
    if min(sent, received) < 0:
        raise ParamsError(f"--tokens {text}: expected numbers from 0 up")
    return sent, received
