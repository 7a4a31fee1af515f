"""Stages that work in chunks write the same bytes with a Dask cluster of two workers as without one."""

from pathlib import Path

import pytest
import yaml

from flows.engine.pipeline import stage_files
from tests.support.clone import Clone

pytestmark = pytest.mark.dag

STAGES = ("write", "filter", "span", "doclens", "note_qa", "embed")


def outputs(clone: Clone, stage: str) -> dict[str, bytes]:
    files = stage_files(clone.folder / "dvc.yaml", stage).outs
    return {stem: (clone.folder / path).read_bytes() for stem, path in files.items()}


def test_chunks_on_a_cluster_give_the_same_bytes(built: Clone, tmp_path: Path) -> None:
    params = yaml.safe_load((built.folder / "params.yaml").read_text())
    params["runtime"] |= {"dask": "local", "dask_workers": 2, "chunk_rows": 20}  # three chunks for two workers
    clustered = tmp_path / "params.yaml"
    clustered.write_text(yaml.safe_dump(params, sort_keys=False))
    for stage in STAGES:
        expected = outputs(built, stage)
        built.vignette(
            "store", "prune", "--stage", stage, "--yes"
        )  # otherwise the store would answer instead of the workers
        for path in stage_files(built.folder / "dvc.yaml", stage).outs.values():
            (built.folder / path).unlink()
        built.vignette("stage", stage, "--params", str(clustered))
        assert outputs(built, stage) == expected, stage
    assert built.git("status", "--porcelain") == ""
    built.vignette("server", "stop")
    assert not [line for line in built.processes() if "dask" in line or "distributed" in line]
