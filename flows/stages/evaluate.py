"""Stage `evaluate@NAME` of the third pipeline: one evaluation of the user's own texts."""

from pathlib import Path

import yaml
from pydantic import ValidationError

from flows.evaluation.folder import page, sampled
from flows.evaluation.work import evaluate_data, read_data, roles_of
from flows.runtime.stage import Stage
from schemas.errors import ParamsError
from schemas.params.measures import Evaluate
from schemas.tables.columns import typed
from schemas.tables.registry import schema_of
from tasks.measures.described import OF_OUTPUTS
from tasks.measures.evaluation import evaluated
from tasks.statistics.metric_rows import metric_table

FILE = Path("evaluations/params.yaml")
_MAYBE = (*(one.table for one in OF_OUTPUTS if one.table is not None), "questions", "planted")
"""Tables that only some evaluations have."""


async def run(stage: Stage) -> None:
    """Evaluate, and write tables and page; a method that was not chosen has an empty table."""
    name = stage.name.partition("@")[2]
    chosen = load_evaluation(name)
    data = read_data(chosen)
    found = await evaluate_data(stage, chosen, data)
    stage.save("evaluated", evaluated(found.documents))
    stage.save("document_scores", found.tables["scores"])
    for stem in _MAYBE:
        stage.save(stem, found.tables.get(stem, typed([], schema_of(stem, stage.name))))
    stage.save("unscored_evaluation", found.tables["unscored"])
    stage.save_metrics("metrics", found.tables["metrics"])
    stage.save_metrics("judge", found.tables["judge"] if "judge" in found.tables else metric_table([]))
    stage.save("comparisons", found.tables["comparisons"])
    roles = stage.params.roles
    asked: dict[str, str] = {role: sampled(stage.ask(role).label, vars(roles[role])) for role in roles_of(chosen, data)}
    stage.save_text("report", page(found, name, asked))
    found.require_scored()


def load_evaluation(name: str, file: Path = FILE) -> Evaluate:
    """The evaluation called ``name``, with its files below its folder. Raises ParamsError naming the key."""
    try:
        entries = yaml.safe_load(file.read_text(encoding="utf-8"))["evaluations"]
        entry = dict(entries[name])
        folder = Path(entry.pop("folder"))
    except (OSError, yaml.YAMLError, KeyError, TypeError, ValueError) as error:
        raise ParamsError(f"{file}: evaluations.{name}: expected an entry with folder and data ({error})") from error
    try:
        chosen = Evaluate.model_validate(entry)
    except ValidationError as error:
        problem = error.errors()[0]
        key = ".".join(map(str, problem["loc"]))
        raise ParamsError(f"{file}: evaluations.{name}.{key} is {problem['input']!r}; {problem['msg']}") from error
    named = [entry.rpartition("=") for entry in chosen.outputs]
    below = {"data": str(folder / chosen.data), "outputs": [f"{of}{is_}{folder / file}" for of, is_, file in named]}
    claims = None if chosen.claims is None else str(folder / chosen.claims)
    own = [str(folder / file) for file in chosen.own]
    if outside := [file for file in chosen.own if not (folder / file).resolve().is_relative_to(folder.resolve())]:
        raise ParamsError(
            f"{FILE}: evaluations.{name}.own: {outside[0]} is not in {folder}; put it there: its changes are not seen"
        )
    return chosen.model_copy(update={**below, "claims": claims, "own": own})
