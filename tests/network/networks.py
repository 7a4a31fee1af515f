"""The networks of these tests: SimSUM's, and one of another domain, as no code may depend on respiratory names."""

from pathlib import Path

from tasks.network.definition import load_definition
from tests.support.records import NETWORK

RESPIRATORY = NETWORK
GUT = load_definition(Path(__file__).with_name("gut.yaml"))
