"""The page of stages: what each does, reads, takes from params.yaml and writes, from both dvc.yaml files."""

from pathlib import Path
from typing import Any

from flows.engine.pipeline import CODE, MAIN, declared_outputs, paths_of, read_pipeline
from flows.reference.markdown import code

PUBLISHED = Path("reports/published/dvc.yaml")


def stages_page(root: Path) -> str:
    """A section per pipeline, a subsection per stage in the order of the file."""
    parts = ["# Stages\n", "`vignette stage NAME` runs one stage; `vignette repro` runs those that are out of date.\n"]
    for title, file in (("Default pipeline", MAIN), ("Pipeline for outside data and paper scale", PUBLISHED)):
        parts.append(f"## {title}\n")
        parts.extend(_stage(name, stage) for name, stage in read_pipeline(root / file).items())
    return "\n".join(parts)


def _stage(name: str, stage: dict[str, Any]) -> str:
    inputs = [path.as_posix() for path in paths_of(stage.get("deps", [])) if path.parts[0] not in CODE]
    lists = {
        "reads": inputs,
        "params": [str(param) for param in stage.get("params", [])],
        "writes": list(declared_outputs(stage)),
    }
    lines = [f"- {kind}: {', '.join(map(code, entries))}" for kind, entries in lists.items() if entries]
    return "\n".join([f"### {name}\n", f"{stage['desc']}.\n", *lines, ""])
