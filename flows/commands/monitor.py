"""Watches whether a judge is still as good as it was: fresh cases each round, an alarm that holds for ever."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from schemas.errors import ParamsError

if TYPE_CHECKING:
    import pandas as pd

    from flows.runtime.costs import Line
    from schemas.params import Params

PAGE = "monitor.html"


def main(
    judge: Annotated[
        str | None, typer.Argument(help="As in vignette audit; default: the role judge of params.yaml.")
    ] = None,
    rounds: Annotated[int, typer.Option(help="Rounds to add; 0: only show what is known.")] = 1,
    out: Annotated[Path | None, typer.Option(help="File to write the page to (default: .vignette/monitor).")] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Run whatever it costs, up to the budget.")] = False,
) -> None:
    """Have the judge answer the cases of a round, and say whether it got worse since its reference.

    The first call asks the rounds of the reference. Exit status 2: an alarm.
    """
    from flows.evaluation.judges import with_judge
    from flows.evaluation.monitor import read_rounds, rounds_file
    from flows.repository.params import load_params
    from flows.repository.workspace import be_quiet, root
    from flows.runtime.folders import require_new_file, write_new_file
    from flows.runtime.tables import write_text
    from tasks.monitoring.chart import lines, page, watched

    be_quiet()
    if rounds < 0:
        raise ParamsError(f"--rounds {rounds}: expected 0 or more")
    require_new_file(out, "vignette monitor")
    loaded = load_params(root() / "params.yaml")
    params = loaded if judge is None else with_judge(loaded, judge)
    settings, role = params.watch.monitor, params.roles["judge"]
    file = rounds_file(role)
    known = read_rounds(file)
    done = int(known["round"].max()) if len(known) else 0
    ask = range(done + 1, max(done, settings.reference) + rounds + 1) if rounds else range(0)
    known = _asked(params, known, ask, file, confirmed=yes)
    streams = watched(known, reference=settings.reference, level=settings.level)
    print("\n".join(lines(streams, known, reference=settings.reference)) or f"{role.model}: no round yet")
    to = out or file.with_name(f"{file.stem}-{PAGE}")
    text = page(streams, known, judge=role.model, reference=settings.reference, level=settings.level)
    if out is None:
        write_text(to, text)
    else:
        write_new_file(out, text.encode(), "vignette monitor")
    print(f"written: {to}")
    if any(one.alarm is not None for one in streams.values()):
        sys.exit(2)


def _asked(params: Params, known: pd.DataFrame, ask: range, file: Path, *, confirmed: bool) -> pd.DataFrame:
    """``known`` with the rounds ``ask``, each of which is kept as soon as it is complete."""
    import pandas as pd

    from flows.evaluation.models import CommandRun, estimated, require_confirmed
    from flows.evaluation.monitor import judge_round, write_rounds

    settings = params.watch.monitor
    if not ask:
        return known

    def lines() -> list[Line]:
        one = estimated(
            params, "monitor", ["judge"], lambda run: judge_round(run, 1, each=settings.cases), times=len(ask)
        )
        return asyncio.run(one)

    if not params.roles["judge"].is_simulator and not confirmed:
        require_confirmed(params, lines, f"the monitor's {len(ask)} rounds", "use --yes")

    async def run() -> pd.DataFrame:
        found = known
        async with CommandRun(params, quiet=True) as asked:
            for number in ask:
                found = pd.concat([found, await judge_round(asked, number, each=settings.cases)], ignore_index=True)
                write_rounds(file, found)
                print(f"round {number} of {ask[-1]}", end="\r", file=sys.stderr, flush=True)
        return found

    return asyncio.run(run())
