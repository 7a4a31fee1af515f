"""The page of all tables: columns, types, keys and meaning, from the pandera schemas."""

import ast
import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pandera.pandas as pa

import schemas.tables
from flows.engine.pipeline import MAIN, declared_outputs, read_pipeline
from flows.reference.markdown import code, table
from flows.reference.source import column_comments, constant_docstrings

PIPELINES = (MAIN, Path("reports/published/dvc.yaml"))


def tables_page(root: Path) -> str:
    """One section per module of ``schemas.tables``, with the schemas that it defines and the files that they check."""
    parts = [
        "# Tables\n",
        "Tables between stages are parquet, metric tables CSV. Each is checked when it is written and read.\n",
    ]
    written = files_by_schema(root)
    for module in _modules():
        schemas_here = [(name, schema) for name, schema in vars(module).items() if _is_own(module, name, schema)]
        if schemas_here:
            parts.append(f"## {module.__name__.split('.')[-1]}\n\n{module.__doc__}\n")
            parts.extend(_schema(module, name, schema, written.get(name, [])) for name, schema in schemas_here)
    return "\n".join(parts)


def files_by_schema(root: Path) -> dict[str, list[str]]:
    """Paths of the files that stages save under each schema (its name in the code), from the stages' source."""
    found: dict[str, list[str]] = {}
    for file in PIPELINES:
        for name, stage in read_pipeline(root / file).items():
            code_file = root / "flows" / "stages" / f"{name}.py"
            if not code_file.exists():  # a stage that runs another command than `vignette stage`
                continue
            outs = {Path(path).stem: path for path in declared_outputs(stage)}
            for stem, schema in _saved(code_file):
                if stem in outs:
                    found.setdefault(schema, []).append(outs[stem])
    return found


def _saved(stage: Path) -> Iterator[tuple[str, str]]:
    for node in ast.walk(ast.parse(stage.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args:
            stem = node.args[0].value if isinstance(node.args[0], ast.Constant) else None
            schema = {"save_metrics": "METRICS", "save_unscored": "UNSCORED"}.get(node.func.attr)
            if node.func.attr == "save" and len(node.args) == 3:
                schema = ast.unparse(node.args[2])
            if schema and isinstance(stem, str):
                yield stem, schema


def _modules() -> list[ModuleType]:
    names = sorted(module.name for module in pkgutil.iter_modules(schemas.tables.__path__))
    return [importlib.import_module(f"schemas.tables.{name}") for name in names]


def _is_own(module: ModuleType, name: str, value: object) -> bool:
    return isinstance(value, pa.DataFrameSchema) and f"\n{name} = table(" in inspect.getsource(module)


def _schema(module: ModuleType, name: str, schema: pa.DataFrameSchema, files: list[str]) -> str:
    meaning = column_comments(module).get(name, {})
    rows = [
        (code(column), _type(settings), "yes" if settings.nullable else "", meaning.get(column, ""))
        for column, settings in schema.columns.items()
    ]
    notes = [constant_docstrings(module).get(name, "")]
    notes += [f"Unique in {', '.join(map(code, schema.unique))}."] if schema.unique else []
    notes += [f"Files: {', '.join(map(code, files))}."] if files else []
    head = ("column", "type", "null", "description")
    return f"### {schema.name}\n\n{' '.join(note for note in notes if note)}\n\n{table(head, rows)}"


def _type(column: pa.Column) -> str:
    names = {"int64": "integer", "float64": "number", "bool": "boolean"}
    dtype = str(column.dtype)
    kind = "text" if dtype.startswith("str") else names.get(dtype, dtype)
    return " ".join([kind, *(_check(check) for check in column.checks)])


def _check(check: pa.Check) -> str:
    given = check.statistics or {}
    if "allowed_values" in given:
        return "(" + ", ".join(map(str, given["allowed_values"])) + ")"
    if "min_value" in given:
        return f">= {given['min_value']:g}"
    return f"<= {given['max_value']:g}" if "max_value" in given else ""
