"""Stage `agreement_with_people`: a judge's verdicts on the units of texts that people judged, against theirs."""

from collections.abc import Sequence
from itertools import product
from pathlib import Path

import pandas as pd

from flows.repository.workspace import root
from flows.runtime.stage import Stage
from flows.stages.human_labels import STRONG
from schemas.params import Params
from tasks.audit.errors import drawn_texts, error_texts, locate_errors
from tasks.judges.people_agreement import STAGE, agreement_rows
from tasks.judges.people_sets import READINGS, STRICT, VIEWS, Kind, PeopleSet, judge_lists, judge_units
from tasks.llm.ask_all import Unscored
from tasks.llm.calls import Ask, unscored_table
from tasks.llm.recorded import RecordedAsk, read_recorded
from tasks.measures.measure import Metric, verdict_table
from tasks.statistics.metric_rows import Row, metric_table
from tasks.texts import k_qa, primock57
from tasks.texts.document import WHOLE
from tasks.texts.files import read_rows

RECORDED = Path("tests/cassettes/people.jsonl.gz")
"""A strong model's replies to the requests about the units that people judged."""
MEDEC = "medec/validation.csv"
ERROR_TEXTS, SEED = 30, 0
"""Number and draw of the texts of MEDEC that are judged, each with its error and corrected."""
_PRIMOCK57: tuple[Kind, ...] = ("statements", "facts")
_SCORES = {"claim_recall_graded": ("FactualRecall", "in degrees"), "claims_supported": ("FactualPrecision", STRICT)}
"""People's scores of MTS-Dialog's summaries, and the reading, by the metric that asks the same."""


def reads_agreement_with_people(_: Params) -> list[str]:
    """The files of outside data that the stage reads."""
    return [k_qa.FILE, *primock57.FILES, MEDEC]


async def run_agreement_with_people(stage: Stage) -> None:
    """Judge the units of each set at hand by the judge of the run and by the recorded one, and compare."""
    asks: Sequence[Ask] = (stage.ask("judge"), RecordedAsk(STRONG, read_recorded(root() / RECORDED)))
    rows, unscored, judged = list[Row](), list[dict[str, str | None]](), 0
    for one in people_sets(stage.sources):
        found, failed = await judge_set(asks, one, stage.params.doclens.claims_a_call)
        for view, metrics in VIEWS[one.kind].items():
            rows += agreement_rows(one.verdicts, found, metrics, f"{one.name}, {view}")
        unscored, judged = unscored + failed, judged + sum(map(len, found.values()))
    rows += await _errors(stage.sources, asks)
    rows += _scored_texts(stage.load_metrics("human_agreement"))
    stage.save_unscored(f"unscored_{STAGE}", unscored_table(unscored), of=judged)
    stage.save_metrics(STAGE, metric_table(rows, stage=STAGE, seed=stage.params.seed))


def people_sets(folder: Path | None) -> list[PeopleSet]:
    """The sets of people's verdicts on units of which the folder has the files."""
    found = list[PeopleSet]()
    if folder is not None and (folder / k_qa.FILE).is_file():
        answers, claims = k_qa.read_k_qa(folder)
        found.append(PeopleSet("K-QA", "claims", answers, verdict_table(claims, judge="people")))
    if folder is not None and (folder / primock57.STATEMENTS).is_file():
        documents, *units = primock57.read_primock57(folder)
        for kind, rows in zip(_PRIMOCK57, units, strict=True):
            found.append(PeopleSet("PriMock57", kind, documents, verdict_table(rows, judge="people")))
    return found


async def judge_set(
    asks: Sequence[Ask], asked: PeopleSet, claims_a_call: int
) -> tuple[dict[str, pd.DataFrame], Unscored]:
    """VERDICTS of all judges on the units of a set by reading, and unscored rows."""
    found, unscored = dict[str, pd.DataFrame](), list[dict[str, str | None]]()
    for reading in READINGS[asked.kind]:
        made = [await judge_units(ask, asked, reading, claims_a_call) for ask in asks]
        found[reading] = pd.concat([verdicts for verdicts, _ in made], ignore_index=True)
        unscored += [row for _, rows in made for row in rows]
    if asked.kind == "facts":
        found["another's list"], failed = await judge_lists(asks[-1], asked, claims_a_call)
        unscored += failed
    return found, unscored


async def _errors(folder: Path | None, asks: Sequence[Ask]) -> list[Row]:
    """Rows of MEDEC's texts: people put an error into each, and corrected it."""
    if folder is None or not (folder / MEDEC).is_file():
        return []
    every = error_texts(dict(row.values) for row in read_rows(folder / MEDEC).rows)
    texts = drawn_texts(every, ERROR_TEXTS, seed=SEED)
    about = {"system": "text", "item": WHOLE, "metric": "error", "condition": "errors", "text": ""}
    people, judged = list[Row](), list[Row]()
    for ask in asks:
        found = await locate_errors(ask, texts)
        for one, had in product(texts, (True, False)):
            unit = {**about, "document": one.name, "unit": "as written" if had else "corrected"}
            people.append({**unit, "judge": "people who put it in", "value": float(had)})
            place = found.get((one.name, had))
            judged.append({**unit, "judge": ask.label, "value": place and float(place.sentence > 0)})
    own = verdict_table(people, judge="people").drop_duplicates(["document", "unit"])
    view = Metric(of="error")
    return agreement_rows(own, {"errors": verdict_table(judged, judge="")}, (view, view), "MEDEC, error in the text")


def _scored_texts(scored: pd.DataFrame) -> list[Row]:
    """Rows of MTS-Dialog's summaries, which people scored as a whole: those of `human_agreement` (METRICS)."""
    rows, kept = list[Row](), ["system", "value", "low", "high", "n", "unscored", "provenance"]
    for metric, (score, reading) in _SCORES.items():
        own = scored[(scored["item"] == metric) & (scored["condition"] == f"{score}, all summaries")]
        about = {"metric": "pearson_of_texts", "condition": reading, "item": f"MTS-Dialog, {score}, against annotators"}
        rows += [{**row, **about} for row in own.loc[own["metric"] == "pearson", kept].to_dict("records")]
    return rows
