"""Stability of the ranking of systems over takes (EHRNoteQA, Section 4.1, Table 6)."""

import pandas as pd


def take_ranks(scores: pd.DataFrame) -> pd.DataFrame:
    """Rank of each system (row) in each take (column): 1 is best, tied systems share the smallest rank."""
    return scores.rank(ascending=False, method="min").astype(int)


def mode_ranks(ranks: pd.DataFrame) -> pd.Series:
    """Each system's most frequent rank over takes; of equally frequent ranks, the best."""
    return ranks.mode(axis=1)[0].astype(int).rename("mode_rank")


def rank_changes(ranks: pd.DataFrame, gold: pd.Series) -> int:
    """Sum over systems and takes of the absolute difference between rank and gold rank (Section 4.1)."""
    return int(ranks.sub(gold, axis=0).abs().to_numpy().sum())
