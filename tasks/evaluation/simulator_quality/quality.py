"""Measures of the simulator's notes: style, stock sentences, near-duplicates, and separability from real notes.

They use texts and vectors only, no planted truth. Span statistics are in `tasks.spans.statistics`.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from tasks.text.sentences import sentences

_WORD = re.compile(r"\w+")
_HEADING = re.compile(r"^\**(history|physical examination)\**:?$", re.IGNORECASE)
Floats = npt.NDArray[np.float32]

STYLE = (
    "sentences_per_note",
    "words_per_sentence",
    "characters_per_note",
    "type_token_ratio",
    "distinct_bigrams",
)
"""Names of the style statistics. The last two decrease with sample size, so compare samples of equal size."""


def note_sentences(note: str) -> list[str]:
    """The sentences of a note, without headings."""
    return [sentence for sentence in sentences(note) if not _HEADING.match(sentence.strip())]


def style_statistics(notes: Sequence[str]) -> dict[str, float]:
    """The statistics `STYLE` of a set of notes. Headings count for the number of characters only.

    ``type_token_ratio``: distinct words over words. ``distinct_bigrams``: distinct pairs of adjacent words over pairs
    (distinct-2, Li et al. 2016). Words are lower-cased runs of letters, digits and underscores.
    """
    by_note = [note_sentences(note) for note in notes]
    words = [word.lower() for found in by_note for word in _WORD.findall(" ".join(found))]
    count = sum(map(len, by_note))
    bigrams = list(pairwise(words))
    return {
        "sentences_per_note": count / len(notes),
        "words_per_sentence": len(words) / count,
        "characters_per_note": sum(map(len, notes)) / len(notes),
        "type_token_ratio": len(set(words)) / len(words),
        "distinct_bigrams": len(set(bigrams)) / len(bigrams),
    }


def repeated_style(notes: Sequence[str], size: int, draws: int, seed: int) -> pd.DataFrame:
    """`style_statistics` of ``draws`` samples of ``size`` notes, one row per sample."""
    draw = np.random.default_rng(seed)
    samples = [draw.choice(len(notes), size, replace=False) for _ in range(draws)]
    return pd.DataFrame([style_statistics([notes[i] for i in rows]) for rows in samples])


def stock_sentences(notes: Iterable[str]) -> pd.Series:
    """Share (0-1) of notes that contain each sentence, regardless of case, most frequent first; index: the sentence."""
    texts = list(notes)
    counts: Counter[str] = Counter()
    for note in texts:
        counts.update({sentence.lower() for sentence in note_sentences(note)})
    shares = pd.Series(dict(counts), dtype=float) / max(len(texts), 1)
    return shares.sort_values(ascending=False, kind="stable")


def five_grams(note: str, size: int = 5) -> frozenset[tuple[str, ...]]:
    """The distinct word n-grams of a note."""
    words = [word.lower() for word in _WORD.findall(note)]
    return frozenset(zip(*(words[start:] for start in range(size)), strict=False))


def near_duplicates(notes: Sequence[str], threshold: float, size: int = 5) -> list[tuple[int, int, float]]:
    """Pairs of notes whose word n-grams have a Jaccard index of at least ``threshold``: (first, second, index).

    Exact, with a prefix filter: two such sets share at least one of each set's rarest n-grams (Chaudhuri et al. 2006).
    """
    grams = [five_grams(note, size) for note in notes]
    frequency = Counter(gram for found in grams for gram in found)
    seen: dict[tuple[str, ...], list[int]] = {}
    pairs = []
    for second, found in enumerate(grams):
        rare_first = sorted(found, key=lambda gram: (frequency[gram], gram))
        prefix = rare_first[: len(found) - int(np.ceil(threshold * len(found))) + 1]
        for first in sorted({other for gram in prefix for other in seen.get(gram, ())}):
            index = len(grams[first] & found) / max(len(grams[first] | found), 1)
            if index >= threshold:
                pairs.append((first, second, index))
        for gram in prefix:
            seen.setdefault(gram, []).append(second)
    return pairs


def highest_overlap(notes: Sequence[str], size: int = 5) -> float:
    """The highest Jaccard index of the word n-grams of any two notes, or 0.2 if no pair reaches that."""
    for threshold in (0.8, 0.6, 0.4, 0.3, 0.2):
        if pairs := near_duplicates(notes, threshold, size):
            return max(index for _, _, index in pairs)
    return 0.2


def note_vectors(notes: Sequence[str], encode: Callable[[list[str]], Floats]) -> Floats:
    """Mean sentence vector of each note, shape (notes, dimension)."""
    by_note = [note_sentences(note) for note in notes]
    vectors = encode([sentence for found in by_note for sentence in found])
    ends = np.cumsum([len(found) for found in by_note])
    return np.array([part.mean(axis=0) for part in np.split(vectors, ends[:-1])])


def separability(real: Floats, written: Floats, *, seed: int, folds: int = 5) -> float:
    """Cross-validated AUC of a logistic regression that classifies note vectors as real or written; 0.5 is chance.

    Raises ValueError for sets of unequal size, since the AUC would depend on the size of the larger one.
    """
    if len(real) != len(written):
        raise ValueError(f"{len(real)} real and {len(written)} written notes; draw equal numbers")
    vectors = np.vstack([real, written])
    labels = np.repeat([1, 0], [len(real), len(written)])
    order = StratifiedKFold(folds, shuffle=True, random_state=seed)
    model = LogisticRegression(max_iter=2000)
    scores = cross_val_predict(model, vectors, labels, cv=order, method="decision_function")
    return float(roc_auc_score(labels, scores))


def repeated_separability(real: Floats, written: Floats, *, draws: int, seed: int) -> npt.NDArray[np.float64]:
    """`separability` of ``real`` and each of ``draws`` equally large samples of ``written``, shape (draws,)."""
    draw = np.random.default_rng(seed)
    samples = [draw.choice(len(written), len(real), replace=False) for _ in range(draws)]
    return np.array([separability(real, written[rows], seed=seed + n) for n, rows in enumerate(samples)])
