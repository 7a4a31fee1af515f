"""Histories of patients drawn from a network over time, all patients of a visit at once.

The first visit is the static network's sample, byte for byte. At each later visit the variables are drawn in
topological order of the second slice, each from a stream keyed by its name and the number of the visit, so that a
patient's values depend neither on the number of patients nor on later visits.
"""

from collections.abc import Sequence
from zlib import crc32

import numpy as np
import numpy.typing as npt
import pandas as pd

from schemas.errors import NetworkError
from tasks.network.coding import Codes, decode, encode
from tasks.network.graph import NetworkDefinition
from tasks.network.sampling import draw_given_parents, sample
from tasks.network.transitions import GAP, LAST, Transitions

HISTORY_STREAM = 2
"""Separates the random streams of later visits from those of `sample`."""
VISITS_A_PATIENT = 99
"""Most visits of a patient: a record's id is patient * 100 + visit."""


def sample_histories(
    network: NetworkDefinition,
    transitions: Transitions,
    patients: int,
    visits_per_patient: int | Sequence[int] | npt.NDArray[np.int64],
    seed: int,
) -> pd.DataFrame:
    """Visits of ``patients`` patients: record, patient, visit, day, then the network's variables in order.

    ``visits_per_patient``: one number for all, or one for each. Days count from a patient's first visit. Sorted by
    patient and visit. Raises NetworkError for a number of visits outside 1-99, or of the wrong length.
    """
    sizes = _sizes(visits_per_patient, patients)
    first = sample(network, patients, seed)
    codes = encode(network, first, network.variables)
    present, days = np.arange(patients), np.zeros(patients, dtype=np.int64)
    parts = [_coded(present, 1, days, codes)]
    for visit in range(2, int(sizes.max(initial=1)) + 1):
        kept = sizes[present] >= visit
        present = present[kept]
        before = {name: values[kept] for name, values in codes.items()}
        codes, gaps = _next_visit(transitions, before, len(present), visit, seed)
        days = days[kept] + gaps
        parts.append(_coded(present, visit, days, codes))
    visits = pd.concat(parts).sort_values(["patient", "visit"], ignore_index=True)
    return visits.assign(**{name: decode(network, name, visits[name].to_numpy()) for name in network.variables})


def _coded(patients: npt.NDArray[np.int64], visit: int, days: npt.NDArray[np.int64], codes: Codes) -> pd.DataFrame:
    """One visit of ``patients``, with codes of the variables."""
    head = {"record": patients * 100 + visit, "patient": patients, "visit": visit, "day": days}
    return pd.DataFrame({**head, **codes})


def _sizes(visits: int | Sequence[int] | npt.NDArray[np.int64], patients: int) -> npt.NDArray[np.int64]:
    sizes = np.asarray(visits, dtype=np.int64)
    if sizes.ndim and len(sizes) != patients:
        raise NetworkError(f"{len(sizes)} numbers of visits for {patients} patients; give one, or one for each")
    sizes = np.broadcast_to(sizes, patients)
    if ((sizes < 1) | (sizes > VISITS_A_PATIENT)).any():
        raise NetworkError(
            f"found {sizes.min()} to {sizes.max()} visits of a patient; expected 1 to {VISITS_A_PATIENT}"
        )
    return sizes


def _next_visit(
    transitions: Transitions, before: Codes, n: int, visit: int, seed: int
) -> tuple[Codes, npt.NDArray[np.int64]]:
    """Codes of the network's variables at the next visit, and the days since the one before."""
    codes = {LAST + name: before[name] for name in transitions.carried}
    codes |= {name: before[name] for name in transitions.constant}
    for name in transitions.drawn:
        codes[name] = draw_given_parents(transitions.slice, name, codes, n, _stream(name, visit, seed))
    low, high = np.array(list(transitions.days.values()), dtype=np.int64).T
    gaps = codes.pop(GAP)
    days = _stream("days", visit, seed).random(n) * (high - low + 1)[gaps]
    return {name: codes[name] for name in before}, low[gaps] + days.astype(np.int64)


def _stream(name: str, visit: int, seed: int) -> np.random.Generator:
    return np.random.default_rng([seed, HISTORY_STREAM, visit, crc32(name.encode())])
