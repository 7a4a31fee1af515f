"""Records and simple notes about them, for tests of the baselines."""

import numpy as np
import pandas as pd

from tasks.baselines.targets import targets_of
from tasks.network.sampling import sample
from tests.support.records import NETWORK, span_row

TARGETS = targets_of(NETWORK)


def random_predictions(values: int, n: int, *, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Labels (n,) drawn from probabilities (n, values)."""
    random = np.random.default_rng([values, seed])
    probabilities = random.dirichlet(np.ones(values), n)
    return np.array([random.choice(values, p=row) for row in probabilities]), probabilities


def records(n: int = 400, seed: int = 3) -> pd.DataFrame:
    return sample(NETWORK, n, seed)


def notes_of(frame: pd.DataFrame, *, mentioned: float = 0.9) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Notes, compact notes and spans: each symptom is mentioned with probability ``mentioned``, in one sentence."""
    random = np.random.default_rng(0)
    notes, compact, spans = [], [], []
    for record in frame.to_dict("records"):
        for version, rows, column in (("normal", notes, "note"), ("compact", compact, "compact")):
            text = "**History**\n"
            for target in TARGETS:
                if random.random() < mentioned:
                    sentence = f"{target.symptom} {record[target.symptom]} in {version}."
                    spans.append(span_row(record["record"], version, target.symptom, sentence, start=len(text)))
                    text += sentence + "\n"
            text += f"\n**Physical Examination**\nFever {record['fever']} on examination.\nIn no distress."
            rows.append({"record": record["record"], column: text})
    return pd.DataFrame(notes), pd.DataFrame(compact), pd.DataFrame(spans)


def hashed(texts: list[str], dimension: int = 48) -> np.ndarray:
    """One random vector per text, in place of an encoder."""
    vectors = [np.random.default_rng([*text.encode()]).normal(size=dimension) for text in texts]
    return np.array(vectors, dtype=np.float32)
