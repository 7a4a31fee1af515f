"""Aggregates DocLens scores over texts: mean over texts (the paper) or pooled over claims (the released script)."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from tasks.evaluation.doclens.claim_score import Judgement
from tasks.statistics.bootstrap import interval, mean_interval

Score = Callable[[Sequence[Judgement]], float | None]


@dataclass(frozen=True)
class Aggregate:
    """A score over texts: ``mean`` over texts (the paper) and ``pooled`` over judgements (the released script)."""

    mean: float
    mean_low: float
    mean_high: float
    pooled: float
    pooled_low: float
    pooled_high: float
    texts: int
    judgements: int
    unscored: int


def aggregate(by_text: Sequence[Sequence[Judgement]], score: Score, *, seed: int) -> Aggregate:
    """Both aggregates of judgements grouped by text, with 95% bootstrap intervals that resample texts.

    ``score`` is the formula of one text. Texts without a score are left out, as are texts without the section in the
    paper.
    """
    scores = [score(text) for text in by_text]
    mean, low, high = mean_interval([one for one in scores if one is not None], seed=seed)
    scored = [
        [one for one in text if one is not None]
        for text, value in zip(by_text, scores, strict=True)
        if value is not None
    ]

    def pooled(rows: Iterable[int]) -> float:
        rows = list(rows)
        return sum(sum(scored[row]) for row in rows) / sum(len(scored[row]) for row in rows)

    pooled_low, pooled_high = interval(pooled, len(scored), seed=seed)
    total = pooled(range(len(scored))) if scored else float("nan")
    return Aggregate(
        mean,
        low,
        high,
        total,
        pooled_low,
        pooled_high,
        len(scored),
        sum(map(len, scored)),
        sum(one is None for text in by_text for one in text),
    )
