"""The hook of mkdocs that adds the generated pages to the site. The only importer of mkdocs.

They are the reference: commands, params, stages, tables and metrics, as Markdown.
"""

import importlib
import json
import pkgutil
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from types import NoneType
from typing import Annotated, Any, get_args, get_origin

import click
import pandas as pd
import pandera.pandas as pa
from mkdocs.structure.files import File
from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

import schemas.tables
from flows.commands.cli import COMMANDS, load_command
from flows.repository.pipeline import MAIN, declared_outputs, is_code, paths_of, read_pipeline
from flows.runtime.tables import read_table
from schemas.errors import TableError
from schemas.params import Params
from schemas.tables.metrics import METRICS
from schemas.tables.registry import schema_of
from tasks.reporting.page import captions, meanings, percent_metrics

PIPELINES = {"Default pipeline": MAIN, "Pipeline for outside data and paper scale": Path("reports/published/dvc.yaml")}
METRIC_FOLDERS = ("reports/tables", "reports/published/tables")
_TYPES = {"str": "text", "int": "integer", "float": "number", "bool": "true or false", "Path": "path", "Any": "any"}
_DTYPES = {"int64": "integer", "float64": "number", "bool": "boolean", "str": "text", "string": "text"}
_SIGNS = {"ge": ">=", "gt": ">", "le": "<=", "lt": "<"}
_LIMITS = {"min_value": ">=", "max_value": "<="}


def markdown_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown, cells escaped; empty without rows."""
    lines = [head, ["---"] * len(head), *rows]
    cells = [[" ".join(text.split()).replace("|", "\\|") for text in line] for line in lines]
    return "\n".join(f"| {' | '.join(line)} |" for line in cells) + "\n" if len(lines) > 2 else ""


def code(text: object) -> str:
    """Inline code; empty for an empty text."""
    return f"`{text}`" if str(text) else ""


def commands_page() -> str:
    """Usage, arguments and options of every ``vignette`` command and subcommand, from its parser."""
    rows = [(f"[`vignette {name}`](#vignette-{name})", text) for name, (_, text) in COMMANDS.items()]
    parts = ["# Commands\n", markdown_table(("command", ""), rows)]
    for name in COMMANDS:
        command = load_command(COMMANDS[name][0])
        parts.append(_command(f"vignette {name}", command, "##"))
        for sub, subcommand in getattr(command, "commands", {}).items():
            parts.append(_command(f"vignette {name} {sub}", subcommand, "###"))
    return "\n".join(parts)


def _command(name: str, command: click.Command, level: str) -> str:
    if isinstance(command, click.Group):
        return f"{level} {name}\n\n{command.help}\n"
    context = click.Context(command, info_name=name)
    usage = " ".join([name, *command.collect_usage_pieces(context)])
    records = [parameter.get_help_record(context) for parameter in command.params]
    listed = markdown_table(("parameter", ""), [(code(shown), text) for shown, text in filter(None, records)])
    return f"{level} {name}\n\n{command.help}\n\n```text\n{usage}\n```\n\n{listed}"


def params_page() -> str:
    """Name, type with limits, default and description of every param; subsections by dotted names."""
    head = ("param", "type", "default", "description")
    parts = ["# Params\n", "All settings of `params.yaml`. An unknown key or a wrong type is an error.\n"]
    sections = {name: section for name, field in Params.model_fields.items() if (section := _section(field.annotation))}
    parts.append(markdown_table(head, [row for row in _params(Params, "") if row[0].strip("`") not in sections]))
    for name, section in sections.items():
        parts.append(f"## {name}\n\n{(section.__doc__ or '').strip()}\n")
        parts.append(markdown_table(head, _params(section, _prefix(name, Params.model_fields[name]))))
    return "\n".join(parts)


def _params(section: type[BaseModel], prefix: str, given: object = None) -> Iterator[tuple[str, str, str, str]]:
    """Rows of a section's fields; ``given`` is the section that its own section has by default."""
    for name, field in section.model_fields.items():
        default = getattr(given, name, field.get_default(call_default_factory=True))
        inner = _section(field.annotation)
        if inner is None:
            shown = "required" if default is PydanticUndefined else code(json.dumps(default, ensure_ascii=False))
            yield code(prefix + name), type_name(field), shown, field.description or ""
        elif prefix:
            yield from _params(inner, _prefix(prefix + name, field), default)


def _prefix(name: str, field: FieldInfo) -> str:
    """Start of the dotted names in a section; a mapping of sections has one for each name."""
    return f"{name}." if isinstance(field.annotation, type) else f"{name}.<name>."


def _section(annotation: Any) -> type[BaseModel] | None:
    """The section that a field holds, directly or as values of a mapping."""
    found = (part for part in (annotation, *get_args(annotation)) if isinstance(part, type))
    return next((part for part in found if issubclass(part, BaseModel)), None)


def type_name(field: FieldInfo) -> str:
    """The type as in params.yaml with its limits, such as ``integer >= 1`` or ``plain or json or null``."""
    limits = [
        f"{sign} {getattr(limit, name)}"
        for limit in field.metadata
        for name, sign in _SIGNS.items()
        if getattr(limit, name, None) is not None
    ]
    return f"{in_words(field.annotation)} {', '.join(limits)}".strip()


def in_words(annotation: Any) -> str:
    """The values that a type annotation allows: ``integer or null``, ``normal or compact``, ``list of text``."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if annotation is NoneType:
        return "null"
    if not arguments:
        name = getattr(annotation, "__name__", str(annotation))
        return _TYPES.get(name, name)
    if origin is Annotated:
        return in_words(arguments[0])
    if origin is list:
        return f"list of {in_words(arguments[0])}"
    if origin is dict:
        return f"mapping of {in_words(arguments[0])} to {in_words(arguments[1])}"
    return " or ".join(part if isinstance(part, str) else in_words(part) for part in arguments)


def stages_page(root: Path) -> str:
    """What each stage does, reads, takes from params.yaml and writes, in the order of both dvc.yaml files."""
    parts = ["# Stages\n", "`vignette stage NAME` runs one stage; `vignette repro` runs those that are out of date.\n"]
    for title, file in PIPELINES.items():
        parts.append(f"## {title}\n")
        parts += [_stage(name, stage) for name, stage in read_pipeline(root / file).items()]
    return "\n".join(parts)


def _stage(name: str, stage: dict[str, Any]) -> str:
    lists = {
        "reads": [path.as_posix() for path in paths_of(stage.get("deps", [])) if not is_code(path)],
        "params": [str(param) for param in stage.get("params", [])],
        "writes": list(declared_outputs(stage)),
    }
    lines = [f"- {kind}: {', '.join(map(code, entries))}" for kind, entries in lists.items() if entries]
    return "\n".join([f"### {name}\n", f"{stage['desc']}.\n", *lines, ""])


def tables_page(root: Path) -> str:
    """Columns, types, keys and files of every table, from the pandera schemas, by module of ``schemas.tables``."""
    parts = [
        "# Tables\n",
        "Tables between stages are parquet, metric tables CSV. Each is checked when it is written and read.\n",
    ]
    written, shown = files_by_schema(root), set[int]()
    for name in sorted(module.name for module in pkgutil.iter_modules(schemas.tables.__path__)):
        module = importlib.import_module(f"schemas.tables.{name}")
        found = [value for value in vars(module).values() if isinstance(value, pa.DataFrameSchema)]
        own = [schema for schema in found if id(schema) not in shown]
        shown |= {id(schema) for schema in own}
        if own:
            parts.append(f"## {name}\n\n{module.__doc__}\n")
            parts += [_schema(schema, written.get(id(schema), [])) for schema in own]
    return "\n".join(parts)


def files_by_schema(root: Path) -> dict[int, list[str]]:
    """Paths of the tables that stages declare as outputs, by the id of their schema."""
    found: dict[int, list[str]] = {}
    for file in PIPELINES.values():
        for name, stage in read_pipeline(root / file).items():
            for path in declared_outputs(stage):
                if (schema := _schema_of(Path(path), name)) is not None:
                    found.setdefault(id(schema), []).append(path)
    return found


def _schema_of(path: Path, stage: str) -> pa.DataFrameSchema | None:
    if path.suffix not in (".csv", ".parquet"):
        return None
    try:
        return schema_of(path.stem, stage)
    except TableError:  # a metric table, or one whose columns come from the domain's network
        return METRICS if path.parent.name == "tables" else None


def _schema(schema: pa.DataFrameSchema, files: Sequence[str]) -> str:
    notes = [schema.description or ""]
    notes += [f"Unique in {', '.join(map(code, schema.unique))}."] if schema.unique else []
    notes += [f"Files: {', '.join(map(code, files))}."] if files else []
    rows = [
        (code(name), column_type(column), "yes" if column.nullable else "", column.description or "")
        for name, column in schema.columns.items()
    ]
    listed = markdown_table(("column", "type", "null", "description"), rows)
    return f"### {schema.name}\n\n{' '.join(note for note in notes if note)}\n\n{listed}"


def column_type(column: pa.Column) -> str:
    """The type of a column with its limits or its allowed values."""
    kind = str(column.dtype)
    words = [_DTYPES.get(kind.partition("[")[0], kind)]
    for check in column.checks:
        given = check.statistics or {}
        if "allowed_values" in given:
            words.append(f"({', '.join(map(str, given['allowed_values']))})")
        words += [f"{sign} {given[limit]:g}" for limit, sign in _LIMITS.items() if limit in given]
    return " ".join(words)


def metrics_page(root: Path) -> str:
    """Each committed metric table with its metrics, by group of the report."""
    parts = [
        "# Metrics\n",
        "Metric tables are CSV files in `reports/tables`; `reports/published/tables` holds those of the second "
        "pipeline. Every row has a value, a 95% interval, n, and the count of unscored records "
        "([columns](tables.md#metrics)). Shares are stored in 0-1 and displayed as percent.\n",
    ]
    group = None
    for stem, entry in captions().items():
        files = [file for folder in METRIC_FOLDERS if (file := root / folder / f"{stem}.csv").exists()]
        if files and entry["group"] != group:
            group = entry["group"]
            parts.append(f"## {group}\n")
        if files:
            parts.append(_metric_table(stem, entry, files, root))
    return "\n".join(parts)


def _metric_table(stem: str, entry: dict[str, str], files: list[Path], root: Path) -> str:
    named = ", ".join(code(file.relative_to(root).as_posix()) for file in files)
    layout = list(METRICS.columns)
    tables = [read_table(file, METRICS) for file in files if pd.read_csv(file, nrows=0).columns.tolist() == layout]
    known, shares = meanings(stem), percent_metrics(stem)
    metrics = sorted({metric for table in tables for metric in table["metric"].unique()})
    rows = [(code(metric), "share" if metric in shares else "", known.get(metric, "")) for metric in metrics]
    return (
        f"### {entry['title']}\n\n{entry['caption']} {named}\n\n{markdown_table(('metric', '', 'description'), rows)}"
    )


ROOT = Path(__file__).resolve().parents[2]


def generated_pages(root: Path) -> dict[str, str]:
    """Contents of the pages that are not files of docs/, by path within the site."""
    return {
        "index.md": within_docs((root / "README.md").read_text(encoding="utf-8")),
        "changelog.md": within_docs((root / "CHANGELOG.md").read_text(encoding="utf-8")),
        "log.md": within_docs((root / "LOG.md").read_text(encoding="utf-8")),
        "reference/commands.md": commands_page(),
        "reference/params.md": params_page(),
        "reference/stages.md": stages_page(root),
        "reference/tables.md": tables_page(root),
        "reference/metrics.md": metrics_page(root),
    }


def within_docs(text: str) -> str:
    """A page of the repository's root with its links made relative to docs/; links to other files become plain text."""
    linked = re.sub(r"\]\(docs/", "](", text)
    return re.sub(r"\[([^\]]+)\]\((?!https?:)[\w.-]*(?:LICENSE|\.cff|\.yaml|\.py)\)", r"`\1`", linked)


def on_files(files: Any, config: Any) -> Any:
    """Add the generated pages."""
    for path, content in generated_pages(ROOT).items():
        files.append(File.generated(config, path, content=content))
    return files
