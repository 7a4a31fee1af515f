"""Stage `agreement_with_people`: a judge's verdicts on the units of texts that people judged, against theirs."""

from collections.abc import Sequence
from pathlib import Path

from flows.runtime.stage import Stage
from flows.stages.recorded_judge import recorded
from schemas.params import Params
from tasks.audit.errors import ErrorText, drawn_texts, error_agreement, error_texts
from tasks.audit.people import OF_PEOPLE, STAGE, agreement_rows, judge_set, people_sets, scored_text_rows
from tasks.llm.calls import Ask, unscored_table
from tasks.statistics.metric_rows import Row, metric_table
from tasks.texts.files import read_rows
from tasks.texts.judged_units import K_QA, PRIMOCK57

MEDEC = "medec/validation.csv"
ERROR_TEXTS, SEED = 30, 0
"""Number and draw of the texts of MEDEC that are judged, each with its error and corrected."""


def reads_agreement_with_people(_: Params) -> list[str]:
    """The files of outside data that the stage reads."""
    return [K_QA, *PRIMOCK57, MEDEC]


async def run_agreement_with_people(stage: Stage) -> None:
    """Judge the units of each set at hand by the judge of the run and by the recorded one, and compare."""
    asks: Sequence[Ask] = (stage.ask("judge"), recorded("people"))
    rows, unscored, judged = list[Row](), list[dict[str, str | None]](), 0
    for one in people_sets(stage.sources):
        found, failed = await judge_set(asks, one, stage.params.doclens.claims_a_call)
        for view, metrics in OF_PEOPLE[one.kind].views.items():
            rows += agreement_rows(one.verdicts, found, metrics, f"{one.name}, {view}")
        unscored, judged = unscored + failed, judged + sum(map(len, found.values()))
    texts = _texts_with_errors(stage.sources)
    found_errors, failed = await error_agreement(asks, texts, "MEDEC, error in the text")
    rows += [*found_errors, *scored_text_rows(stage.load_metrics("human_agreement"))]
    unscored, judged = unscored + failed, judged + 2 * len(texts) * len(asks)
    stage.save_unscored(f"unscored_{STAGE}", unscored_table(unscored), of=judged)
    stage.save_metrics(STAGE, metric_table(rows, stage=STAGE, seed=stage.params.seed))


def _texts_with_errors(folder: Path | None) -> list[ErrorText]:
    if folder is None or not (folder / MEDEC).is_file():
        return []
    every = error_texts(dict(row.values) for row in read_rows(folder / MEDEC).rows)
    return drawn_texts(every, ERROR_TEXTS, seed=SEED)
