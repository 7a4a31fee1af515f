"""How much the ranking of systems moves between takes (EHRNoteQA, Section 4.1, Table 6)."""

import pandas as pd


def take_ranks(scores: pd.DataFrame) -> pd.DataFrame:
    """Rank of each system (row) in each take (column): 1 is best, systems that tie share the smallest rank."""
    return scores.rank(ascending=False, method="min").astype(int)


def mode_ranks(ranks: pd.DataFrame) -> pd.Series:
    """Each system's most frequent rank over takes; of several as frequent, the best."""
    return ranks.mode(axis=1)[0].astype(int).rename("mode_rank")


def rank_changes(ranks: pd.DataFrame, gold: pd.Series) -> int:
    """Sum over systems and takes of the distance between the take's rank and the system's gold rank (Section 4.1)."""
    return int(ranks.sub(gold, axis=0).abs().to_numpy().sum())
