"""Stage `visits`: draws patients with several visits from the network over time."""

import logging

from flows.repository.workspace import LOGGER
from flows.runtime.stage import Stage
from schemas.tables.columns import typed
from schemas.tables.records import visits_schema
from tasks.network.time import sample_histories
from tasks.network.transitions import read_transitions
from tasks.network.visits import visits_per_patient


async def run(stage: Stage) -> None:
    """Write the visits; none in a domain without transitions.yaml."""
    file = stage.dep("network").with_name("transitions.yaml")
    if not file.exists():
        logging.getLogger(LOGGER).warning("%s: no such file, so no patient has a second visit to draw", file)
        stage.save("visits", typed([], visits_schema(stage.network)))
        return
    transitions, seed = read_transitions(file, stage.network), stage.params.seed
    sizes = visits_per_patient(stage.params.visits, seed)
    stage.save("visits", sample_histories(stage.network, transitions, len(sizes), sizes, seed))
