"""`vignette monitor`: a judge's answers to the fresh cases of a round, and the file that keeps all rounds."""

import hashlib
from math import ceil
from pathlib import Path

import pandas as pd

from flows.evaluation.audit import prompts_of, written
from flows.evaluation.models import CommandRun
from flows.repository.workspace import workspace
from flows.runtime.tables import check, write_atomically
from schemas.errors import SourceError, UnscoredError
from schemas.params import Params
from schemas.params.llm import Role
from schemas.tables.columns import typed
from schemas.tables.evaluate import ROUNDS
from tasks.audit.cases import make_cases
from tasks.audit.trials import judge_claims
from tasks.domains.rules import rules_of
from tasks.measures.doclens.evaluators import make_evaluator

TASK = "claims"
NOTES_A_CASE = 1.5
"""Notes of a round for each true claim."""
STRIDE = 1_000_003
"""Rounds of one seed do not meet those of the next."""


def rounds_file(role: Role) -> Path:
    """Where the rounds of a judge are kept: by its endpoint and the model asked for, whatever model answers."""
    digest = hashlib.sha256(f"{role.base_url} {role.model}".encode()).hexdigest()[:16]
    return workspace() / "monitor" / f"{digest}.csv"


def read_rounds(file: Path) -> pd.DataFrame:
    """ROUNDS of a file, none where it does not exist. Raises SourceError for another file."""
    if not file.exists():
        return typed([], ROUNDS)
    try:
        return check(typed(pd.read_csv(file).to_dict("records"), ROUNDS), ROUNDS, str(file))
    except (OSError, ValueError, KeyError) as error:
        raise SourceError(f"{file}: not the rounds of a monitor ({error}); move it away to begin again") from error


def write_rounds(file: Path, rounds: pd.DataFrame) -> None:
    """Replace the file by these rounds."""
    file.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(file, lambda to: check(rounds, ROUNDS, str(file)).to_csv(to, index=False))


def round_cases(params: Params, number: int, *, each: int) -> pd.DataFrame:
    """CASES of a round: ``each`` true and as many false claims, at most one of either from a note.

    Claims of one note are not independent. Notes are the simulator's, others in each round.
    """
    own = params.model_copy(update={"seed": (params.seed * STRIDE + number) % 2**32})
    notes = written(prompts_of(own, ceil(NOTES_A_CASE * each)), own)
    cases = make_cases(notes, rules_of(own.domain).symptom_labels, cases=4 * each, seed=own.seed, varied=0)
    return cases.drop_duplicates(["document", "truth"]).groupby("truth", sort=True).head(each).sort_values("id")


async def judge_round(run: CommandRun, number: int, *, each: int) -> pd.DataFrame:
    """ROUNDS of one round. Raises UnscoredError where more verdicts failed than ``runtime.max_unscored_share``."""
    await run.identify(["judge"])
    cases = round_cases(run.params, number, each=each)
    judged = pd.DataFrame(await judge_claims(make_evaluator(run.params.doclens, run.ask("judge")), cases))
    run.require_answers()
    failed = int(judged["judged"].isna().sum())
    if failed > run.params.runtime.max_unscored_share * len(judged):
        raise UnscoredError(
            f"round {number}: {failed} of {len(judged)} claims have no verdict; the round is not counted, and the next "
            "one asks again"
        )
    rows = [
        {"round": number, "task": TASK, "truth": bool(truth), "n": int(group["judged"].notna().sum()),
         "right": int(group["judged"].eq(group["truth"]).sum()),
         "unscored": int(group["judged"].isna().sum())}
        for truth, group in judged.groupby("truth", sort=True)
    ]  # fmt: skip
    return typed(rows, ROUNDS)
