"""The recorded strong model that judges published outputs, and the encounters of ACI-BENCH it was asked about.

Some is judged on all encounters, the rest on drawn ones, and citations of notes that the model wrote itself for a few,
by the stages that use this module. Params that shape a request are those of the recording there, whatever a run has.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from flows.repository.workspace import root
from tasks.llm.recorded import RecordedAsk, read_recorded
from tasks.texts.document import Document

CASSETTES = Path("tests/cassettes")
STRONG = "strong model (recorded)"
SEED = 0


def recorded(name: str) -> RecordedAsk:
    """The replies of a file of tests/cassettes: on ``aci_bench``, ``mts_dialog``, or units that ``people`` judged."""
    return RecordedAsk(STRONG, read_recorded(root() / CASSETTES / f"{name}.jsonl.gz"))


def drawn(documents: Sequence[Document], size: int) -> list[Document]:
    """``size`` documents drawn without replacement, in their order; draws of different sizes are independent."""
    ids = sorted(one.id for one in documents)
    chosen = set(np.random.default_rng([SEED, size]).choice(ids, min(size, len(ids)), replace=False))
    return [one for one in documents if one.id in chosen]
