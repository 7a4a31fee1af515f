"""The files of an evaluation: tables as CSV and parquet, the manifest and the page."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pandas as pd
import pandera.pandas as pa

from flows.evaluation.work import Evaluation
from flows.lineage.origin import citation, code_rows, running_code
from flows.runtime.folders import EVALUATION_KIND, defused, write_export
from flows.runtime.tables import check, table_bytes
from schemas.errors import IdentityError, SourceError
from schemas.params import Params
from schemas.params.llm import RoleName
from schemas.params.measures import Evaluate
from schemas.tables.evaluate import table_schema
from tasks.measures.described import OF_OUTPUTS
from tasks.measures.described import chosen as measures
from tasks.reporting.evaluation_page import render_evaluation
from tasks.reporting.evaluation_text import DRY_RUN, RULES
from tasks.transport.fingerprint import read_fingerprint
from tasks.transport.shown import public_params
from tasks.transport.untrusted import parse_json, read_bytes

MANIFEST = "manifest.json"
PAGE = "report.html"


def manifest(
    evaluation: Evaluation,
    chosen: Evaluate,
    params: Params,
    fingerprints: Path,
    roles: Sequence[RoleName],
    read: Mapping[str, str],
) -> dict[str, Any]:
    """What an evaluation was made from: params, models, code revision, and the `file_hashes` of what was read."""
    sections = sorted({one.params for one in OF_OUTPUTS})
    used = {
        "seed": params.seed,
        "evaluation": {**chosen.model_dump(mode="json"), "metrics": [one.choice for one in measures(chosen.metrics)]},
        "params": {name: getattr(params, name).model_dump(mode="json") for name in sections},
    }
    texts = [(one.id, one.units, one.reference, one.outputs) for one in evaluation.documents]
    models = {role: model_of(fingerprints, role, params) for role in roles}
    dry_run = "judge" in models and RULES in models["judge"]["label"]
    return {
        "format": EVALUATION_KIND,
        **({"remark": DRY_RUN} if dry_run else {}),
        **used,
        "params_sha256": _digest(json.dumps(used, sort_keys=True).encode()),
        "data_sha256": _digest(json.dumps(texts, sort_keys=True, default=list).encode()),
        "models": models,
        "code": running_code(),
        "files": dict(read),
        "documents": len(evaluation.documents),
        "systems": evaluation.systems,
        "sections": evaluation.plan.sections,
        "unscored": len(evaluation.tables["unscored"]),
    }


def file_hashes(files: Sequence[Path]) -> dict[str, str]:
    """SHA-256 of each file, by its path."""
    return {str(path): _digest(path.read_bytes()) for path in files}


def model_of(fingerprints: Path, role: RoleName, params: Params) -> dict[str, Any]:
    """Label, identity and settings of the model of a role, for the manifest."""
    found = read_fingerprint(fingerprints, role)
    settings = public_params(params.roles[role].model_dump(mode="json", exclude_defaults=True))
    if found is None:
        raise IdentityError(f"{fingerprints}: no identity of role {role}; run the evaluation again")
    return {"label": found.label, "identity": found.identity, "epoch": found.epoch, "settings": settings}


def evaluation_files(
    evaluation: Evaluation, made_from: Mapping[str, Any], title: str, more: Mapping[str, bytes] | None = None
) -> dict[str, bytes]:
    """Contents of all files of an evaluation by name, with the hashes of all in the manifest.

    ``made_from`` is the `manifest` without these hashes, ``more`` holds further files.
    """
    files = dict(more or {})
    for stem, frame in evaluation.tables.items():
        files |= table_files(f"tables/{stem}", frame, table_schema(stem))
    shown = page(evaluation, title, model_labels(made_from), origin_rows(made_from))
    files[PAGE] = shown.encode(errors="backslashreplace")  # of a file's name that is not UTF-8
    written = {**made_from, "written": {name: _digest(content) for name, content in sorted(files.items())}}
    files[MANIFEST] = (json.dumps(written, indent=2, ensure_ascii=False) + "\n").encode(errors="backslashreplace")
    return files


def model_labels(made_from: Mapping[str, Any]) -> dict[str, str]:
    """The model of each role, and of each of several judges, from the manifest, in words of `sampled`."""
    models = made_from["models"] | {f"judge {name}": model for name, model in made_from.get("judges", {}).items()}
    return {role: sampled(str(model["label"]), model["settings"]) for role, model in models.items()}


def sampled(label: str, settings: Mapping[str, Any]) -> str:
    """A model's label with the host and the sampling settings of its role."""
    if RULES in label:
        return label
    host, temperature = urlsplit(settings["base_url"]).hostname or "an unknown host", settings.get("temperature")
    drawn = "temperature not set" if temperature is None else f"temperature {temperature:g}"
    return f"{label} at {host}, {drawn}, {'seed' if settings.get('send_seed', True) else 'no seed'} sent"


def origin_rows(made_from: Mapping[str, Any]) -> dict[str, str]:
    """What identifies an evaluation, by name: the code, and hashes of params and data."""
    hashes = {"params, SHA-256": "params_sha256", "data, SHA-256": "data_sha256"}
    known = {name: made_from[key][:10] for name, key in hashes.items() if key in made_from}
    return code_rows(made_from.get("code", {})) | known


def page(evaluation: Evaluation, title: str, models: Mapping[str, str], origin: Mapping[str, str] | None = None) -> str:
    """The page of an evaluation; ``models``: label of each role's model.

    ``origin``: `origin_rows`, none in a stage, whose page depends on the stage's inputs only.
    """
    return render_evaluation(
        title,
        evaluation.documents,
        evaluation.plan.citing,
        evaluation.tables,
        systems=evaluation.systems,
        models=models,
        problem=evaluation.problem,
        origin_rows=origin or {},
        cite=citation(origin) if origin else "",
        own=evaluation.own,
    )


def write_evaluation(folder: Path, files: Mapping[str, bytes]) -> str | None:
    """Write the files in place of an earlier evaluation that nobody changed. Raises SourceError for another folder.

    Returns the data and methods of the earlier evaluation, where it was of other data or by other methods.
    """
    earlier = _data_and_methods(folder / MANIFEST)
    write_export(folder, files, EVALUATION_KIND)
    now = _data_and_methods(folder / MANIFEST)
    return None if earlier is None or now is None or earlier[1:] == now[1:] else f"{earlier[0]} by {earlier[2]}"


def _data_and_methods(manifest: Path) -> tuple[str, str, str] | None:
    """File and hash of the data of an evaluation, and its methods; None without a manifest that can be read."""
    try:
        found = parse_json(read_bytes(manifest).decode())
        methods = ", ".join(found["evaluation"]["metrics"])
        return str(found["evaluation"]["data"]), str(found["data_sha256"]), methods
    except (SourceError, ValueError, KeyError, TypeError):
        return None


def table_files(name: str, frame: pd.DataFrame, schema: pa.DataFrameSchema) -> dict[str, bytes]:
    """Contents of a table as CSV and parquet, by the ``name`` with its ending."""
    checked = check(frame, schema, Path(name).name)
    return {f"{name}.csv": table_bytes(defused(checked)), f"{name}.parquet": table_bytes(checked, ".parquet")}


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
