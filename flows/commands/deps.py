"""``vignette deps``: writes the code dependencies of every stage into dvc.yaml, derived from the stages' imports.

Only entries of ``deps`` under flows/, tasks/ and schemas/ are replaced; data, fingerprints, comments and all other keys
are left alone. ``--check`` changes nothing, lists each missing and superfluous entry, and exits with 1 if there is any.
"""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
import yaml

from flows.engine.code_dependencies import code_dependencies
from flows.engine.imports import ROOT
from flows.engine.pipeline import CODE, in_use, read_pipeline

PIPELINES = (Path("dvc.yaml"), Path("reports/published/dvc.yaml"))


def main(
    check: Annotated[bool, typer.Option(help="List missing and superfluous entries; change nothing.")] = False,
) -> None:
    """Write the code dependencies of every stage, or check them."""
    if check:
        found = [f"{file}: {difference}" for file in PIPELINES for difference in differences(ROOT / file)]
        if found:
            print("\n".join(found), file=sys.stderr)
            raise typer.Exit(1)
        return
    for file in PIPELINES:
        before = (ROOT / file).read_text(encoding="utf-8")
        after = generated(before)
        if after != before:
            (ROOT / file).write_text(after, encoding="utf-8")
            print(f"{file}: code dependencies written")


def differences(file: Path) -> list[str]:
    """What ``file`` lacks and has too much, one line for each entry."""
    found = []
    for name, stage in read_pipeline(file).items():
        listed = {entry for entry in stage.get("deps", []) if _is_code(entry)}
        needed = {in_use(entry) for entry in code_dependencies(name.partition("@")[0])}
        found += [f"stage {name} lacks {entry}; run vignette deps" for entry in sorted(needed - listed)]
        found += [f"stage {name} does not use {entry}; run vignette deps" for entry in sorted(listed - needed)]
    return found


def generated(text: str) -> str:
    """The text of a dvc.yaml with the code entries of every ``deps`` in place, before all others."""
    lines = text.splitlines(keepends=True)
    stages = _child(yaml.compose(text, Loader=yaml.CSafeLoader), "stages")
    for key, value in reversed(stages.value):  # from the end, so that line numbers stay valid
        stage = _child(value, "do") or value
        indent = " " * stage.value[0][0].start_mark.column
        deps = _child(stage, "deps")
        code = code_dependencies(key.value)
        if deps is None:
            command = next(node for name, node in stage.value if name.value == "cmd")
            at = command.end_mark.line + 1
            lines[at:at] = [f"{indent}deps:\n", *_entries(code, indent)]
            continue
        first = deps.start_mark.line
        kept = [entry for entry in deps.value if not _is_code(entry.value)]
        if deps.flow_style:
            entries = _entries(code + [entry.value for entry in kept], indent)
            lines[first : deps.end_mark.line + 1] = [f"{indent}deps:\n", *entries]
            continue
        for entry in reversed(deps.value):
            if entry not in kept:
                del lines[entry.start_mark.line]
        lines[first:first] = _entries(code, indent)
    return "".join(lines)


def _is_code(entry: object) -> bool:
    return isinstance(entry, str) and entry.split("/")[0] in CODE


def _entries(paths: Sequence[str], indent: str) -> list[str]:
    return [f"{indent}  - {path}\n" for path in paths]


def _child(mapping: Any, name: str) -> Any:
    """The node under a key of a YAML mapping, None where there is none."""
    return next((node for key, node in mapping.value if key.value == name), None)
