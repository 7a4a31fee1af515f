"""What a judge's verdicts take: replies that could not be used, tokens, dollars and seconds."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tasks.llm.costs import Used
from tasks.statistics.metric_rows import Row, mean_row, metric_row

PER = 1000
"""Verdicts that tokens, dollars and seconds are given for."""
CONDITION = "practice"


@dataclass(frozen=True)
class Practice:
    """``verdicts`` of a judge, the ``calls`` that asked for them, the replies ``used``, and ``seconds`` in all.

    Replies that were kept from an earlier run count in ``used``, and take no time. ``failures``: calls by the reason
    why they have no usable reply.
    """

    verdicts: int
    calls: int
    used: Used
    seconds: float
    failures: Mapping[str, int] = field(default_factory=dict)


def practice_rows(practice: Practice, **shared: Any) -> list[Row]:
    """Share of calls whose first reply could be used, and tokens, dollars and seconds for `PER` verdicts."""
    again = min(max(practice.used.calls - practice.calls, 0), practice.calls)
    at_once = np.repeat([1.0, 0.0], [practice.calls - again, again])
    keys: Row = {"condition": CONDITION, "item": "all", **shared}
    factor, used = PER / max(practice.verdicts, 1), practice.used
    sums = {"tokens_sent": used.prompt_tokens, "tokens_received": used.completion_tokens, "dollars": used.dollars,
            "seconds": practice.seconds}  # fmt: skip
    rows = [mean_row("usable_at_first_reply", at_once, **keys)] if practice.calls else []
    return rows + [
        metric_row(f"{name}_per_{PER}_verdicts", factor * value, n=practice.verdicts, **keys)
        for name, value in sums.items()
    ]
