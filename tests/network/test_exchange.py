"""Networks of other tools are read as network files, and ours can be read by them."""

import gzip
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

from schemas.errors import NetworkError
from tasks.network.definition import load_definition
from tasks.network.graph import NetworkDefinition
from tasks.network.pgmpy_bridge import export_network, import_network


def imported(source: Path, folder: Path) -> NetworkDefinition:
    file = folder / "network.yaml"
    file.write_text(import_network(source, source.stem), encoding="utf-8")
    return load_definition(file)


@pytest.mark.parametrize(("name", "size", "arcs"), [("asia", 8, 8), ("insurance", 27, 52)])
def test_published_networks_of_bnlearn_load(name: str, size: int, arcs: int, tmp_path: Path) -> None:
    """Lung disease and car insurance; sizes as listed in the bnlearn repository."""
    packed = files("pgmpy.utils").joinpath("example_models", f"{name}.bif.gz").read_bytes()
    source = tmp_path / f"{name}.bif"
    source.write_bytes(gzip.decompress(packed))
    network = imported(source, tmp_path)
    assert (len(network.variables), sum(len(network.parents(v)) for v in network.variables)) == (size, arcs)


@pytest.mark.parametrize("suffix", [".bif", ".xml"])
def test_an_exported_network_comes_back_with_its_tables(suffix: str, respiratory: NetworkDefinition, tmp_path: Path):
    source = tmp_path / f"simsum{suffix}"
    export_network(respiratory, source)
    back = imported(source, tmp_path)
    assert set(back.variables) == set(respiratory.variables)
    for name in ("pneumonia", "cough", "antibiotics"):
        ours, theirs = (np.exp(network.log_conditional(name)) for network in (respiratory, back))
        axes = [*respiratory.parents(name), name]
        ordered = theirs.transpose([[*back.parents(name), name].index(v) for v in axes])
        for axis, variable in enumerate(axes):
            order = [back.values(variable).index(value) for value in respiratory.values(variable)]
            ordered = ordered.take(order, axis=axis)
        assert ordered == pytest.approx(ours, abs=1e-6)


def test_a_file_of_another_format_is_named(tmp_path: Path) -> None:
    bad = tmp_path / "broken.bif"
    bad.write_text("this is no network", encoding="utf-8")
    with pytest.raises(NetworkError, match=r"broken\.bif: not a readable network"):
        import_network(bad, "broken")
    with pytest.raises(NetworkError, match="unknown format"):
        import_network(tmp_path / "x.dne", "x")
