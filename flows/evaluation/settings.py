"""The evaluations of the third pipeline: evaluations/params.yaml."""

from pathlib import Path

import yaml
from pydantic import ValidationError

from schemas.errors import ParamsError
from schemas.params.evaluate import Evaluate

FILE = Path("evaluations/params.yaml")


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
    below = {"data": str(folder / chosen.data), "outputs": [_below(folder, entry) for entry in chosen.outputs]}
    claims = None if chosen.claims is None else str(folder / chosen.claims)
    return chosen.model_copy(update={**below, "claims": claims})


def _below(folder: Path, entry: str) -> str:
    name, equals, file = entry.rpartition("=")
    return f"{name}{equals}{folder / file}"
