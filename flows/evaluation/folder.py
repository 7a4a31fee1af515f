"""The files of an evaluation: tables as CSV and parquet, the manifest and the page."""

import hashlib
import io
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from flows.engine.lineage import git
from flows.engine.tables import CSV_FLOAT, check, write_folder
from flows.evaluation.work import Evaluation
from schemas.errors import IdentityError, SourceError
from schemas.params import Params
from schemas.params.evaluate import Evaluate
from schemas.params.llm import RoleName
from tasks.llm.fingerprint import fingerprint_path, read_fingerprint
from tasks.reporting.evaluation_page import render_evaluation
from tasks.reporting.evaluation_view import ShownDocument
from tasks.tracking.comparison import FEWEST

MANIFEST = "manifest.json"
PAGE = "report.html"
FORMAT = "vignette-evaluation"


def manifest(
    evaluation: Evaluation, chosen: Evaluate, params: Params, fingerprints: Path, roles: Sequence[RoleName]
) -> dict[str, Any]:
    """What an evaluation was made from: params, models, code revision, and hashes of the files that were read."""
    return {
        "format": FORMAT,
        "evaluation": chosen.model_dump(mode="json"),
        "seed": params.seed,
        "params": {
            name: getattr(params, name).model_dump(mode="json")
            for name in ("doclens", "med_omit", "note_qa", "overlap")
        },
        "models": {role: _model(fingerprints, role, params) for role in roles},
        "code": _code(),
        "files": {str(path): _digest(path.read_bytes()) for path in evaluation.files},
        "documents": len(evaluation.documents),
        "systems": evaluation.systems,
        "sections": evaluation.work.how,
        "unscored": len(evaluation.table("unscored")),
    }


def _model(fingerprints: Path, role: RoleName, params: Params) -> dict[str, Any]:
    found = read_fingerprint(fingerprint_path(fingerprints, role), role)
    settings = params.roles[role].model_dump(mode="json", exclude_defaults=True)
    settings.pop("headers", None)
    if found is None:
        raise IdentityError(f"{fingerprints}: no identity of role {role}; run the evaluation again")
    return {"label": found.label, "identity": found.identity, "epoch": found.epoch, "settings": settings}


def _code() -> dict[str, Any]:
    changed = git("status", "--porcelain", "--untracked-files=no", "--", "flows", "tasks", "schemas")
    return {"revision": (git("rev-parse", "HEAD") or b"").decode().strip(), "changed": bool(changed)}


def evaluation_files(
    evaluation: Evaluation, made_from: Mapping[str, Any], title: str, more: Mapping[str, bytes] | None = None
) -> dict[str, bytes]:
    """Contents of all files of an evaluation by name, with the hashes of all in the manifest.

    ``made_from`` is the `manifest` without these hashes, ``more`` holds further files.
    """
    files = dict(more or {})
    for stem, (frame, schema) in evaluation.tables.items():
        checked = check(frame, schema, stem)
        files[f"tables/{stem}.csv"] = _csv(checked)
        files[f"tables/{stem}.parquet"] = _parquet(checked)
    labels = {role: model["label"] for role, model in made_from["models"].items()}
    files[PAGE] = page(evaluation, title, labels).encode()
    written = {**made_from, "written": {name: _digest(content) for name, content in sorted(files.items())}}
    files[MANIFEST] = (json.dumps(written, indent=2, ensure_ascii=False) + "\n").encode()
    return files


def page(evaluation: Evaluation, title: str, models: Mapping[str, str]) -> str:
    """The page of an evaluation; ``models``: label of the model of each role."""
    return render_evaluation(
        title,
        [ShownDocument(one.id, one.units, one.reference, one.outputs) for one in evaluation.documents],
        evaluation.work.citing,
        {stem: frame for stem, (frame, _) in evaluation.tables.items()},
        systems=evaluation.systems,
        models=models,
        fewest=FEWEST,
    )


def require_replaceable(folder: Path) -> None:
    """Raises SourceError when ``folder`` holds anything but an earlier evaluation, which would be lost."""
    if folder.is_file():
        raise SourceError(f"{folder}: is a file; name a folder with --out")
    if not folder.exists():
        above = next(parent for parent in folder.absolute().parents if parent.exists())
        if not above.is_dir() or not os.access(above, os.W_OK):
            raise SourceError(f"{folder}: cannot be created in {above}; name another folder with --out")
        return
    if not os.access(folder, os.W_OK):
        raise SourceError(f"{folder}: cannot be written; name another folder with --out")
    if not any(folder.iterdir()):
        return
    try:
        known = json.loads((folder / MANIFEST).read_text(encoding="utf-8")).get("format") == FORMAT
    except (OSError, ValueError, AttributeError):
        known = False
    if not known:
        raise SourceError(
            f"{folder}: holds files that are no evaluation and would be replaced; name another with --out"
        )


def write_evaluation(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write the files in place of an earlier evaluation; whole or, on an error, not at all."""
    require_replaceable(folder)
    write_folder(folder.resolve(), files)


def _csv(frame: pd.DataFrame) -> bytes:
    return frame.to_csv(index=False, float_format=CSV_FLOAT, lineterminator="\n").encode()


def _parquet(frame: pd.DataFrame) -> bytes:
    buffer = io.BytesIO()
    frame.to_parquet(buffer, index=False)
    return buffer.getvalue()


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
