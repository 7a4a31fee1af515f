"""Random tables of visits of a domain, without a network over time: any values may follow any others."""

import numpy as np
import pandas as pd

from tasks.domains.in_use import FOLDER
from tasks.domains.rules import history_words, rules_of
from tasks.network.definition import load_definition
from tasks.network.sampling import sample
from tasks.visits.facts import Fact, Worder


def worder_of(domain: str) -> Worder:
    """The words of a domain, with its network."""
    return Worder(load_definition(FOLDER / domain / "network.yaml"), rules_of(domain), history_words(domain))


def random_visits(domain: str, patients: int, *, seed: int = 3, most: int = 8) -> pd.DataFrame:
    """Visits of ``patients`` with 1 to ``most`` visits; a symptom keeps its last value half of the time."""
    network, random = worder_of(domain).network, np.random.default_rng(seed)
    sizes = random.integers(1, most + 1, patients)
    drawn = iter(sample(network, int(sizes.sum()), seed=seed).drop(columns="record").to_dict("records"))
    rows: list[dict] = []
    for patient, size in enumerate(sizes):
        day = 0
        for visit in range(1, int(size) + 1):
            row = next(drawn)
            if visit > 1:
                last = rows[-1]
                row |= {name: last[name] for name in network.of_type("underlying condition")}
                row |= {name: last[name] for name in network.of_type("symptom") if random.random() < 0.5}
                day += int(random.integers(2, 30))
            rows.append({"record": patient * 100 + visit, "patient": patient, "visit": visit, "day": day, **row})
    return pd.DataFrame(rows)


def facts_by_patient(table: pd.DataFrame) -> dict[int, list[Fact]]:
    """The facts of a HISTORY_FACTS table, by patient."""
    found: dict[int, list[Fact]] = {}
    for row in table.to_dict("records"):
        end = None if pd.isna(row["end"]) else int(row["end"])
        fact = Fact(row["kind"], row["item"], int(row["start"]), row["value"], end)
        found.setdefault(int(row["patient"]), []).append(fact)
    return found
