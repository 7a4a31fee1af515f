"""Which documents of each system could not be scored, from the unscored rows of an evaluation."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pandas as pd

from tasks.evaluation.documents.tables import record_number


def failed_documents(unscored: pd.DataFrame, systems: Sequence[str]) -> dict[str, npt.NDArray[np.int64]]:
    """Numbers of the documents with an unscored row by system; a step that names no system concerns all of them."""
    found: dict[str, set[int]] = {system: set() for system in systems}
    for name, step in zip(unscored["record"], unscored["step"], strict=True):
        document = record_number(str(name).split("/")[0])
        named = [system for system in systems if _names(str(step), system)]
        for system in named or systems:
            found[system].add(document)
    return {system: np.array(sorted(numbers), dtype=np.int64) for system, numbers in found.items()}


def _names(step: str, system: str) -> bool:
    """Whether a step names the system: ``claim_recall of SYSTEM``, or SYSTEM between slashes."""
    return step.endswith(f" of {system}") or system in step.split("/")
