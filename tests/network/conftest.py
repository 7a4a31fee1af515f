from pathlib import Path

import pytest

from tasks.network.definition import load_definition
from tasks.network.graph import NetworkDefinition
from tests.support.records import NETWORK

GUT = Path(__file__).with_name("gut.yaml")


@pytest.fixture(scope="session")
def respiratory() -> NetworkDefinition:
    return NETWORK


@pytest.fixture(scope="session")
def gut() -> NetworkDefinition:
    """A network of another domain: no code may depend on respiratory names."""
    return load_definition(GUT)
