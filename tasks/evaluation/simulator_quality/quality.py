"""How the embedded writer's notes compare with real ones: style, stock sentences, near-duplicates, and telling apart.

Pure functions of texts and vectors; none reads a truth. Span statistics are those of `tasks.spans.statistics`, on gold
spans.
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
"""Names of the style statistics. The last two fall with the size of the sample: compare samples of equal size."""


def note_sentences(note: str) -> list[str]:
    """Sentences of a note without its headings."""
    return [sentence for sentence in sentences(note) if not _HEADING.match(sentence.strip())]


def style_statistics(notes: Sequence[str]) -> dict[str, float]:
    """Style of a set of notes; headings count as characters only.

    Type-token ratio: distinct words over words. Distinct bigrams: distinct pairs of neighbouring words over pairs
    (Li et al. 2016, distinct-2). Words are lower-cased runs of letters, digits and underscores.
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
    """`style_statistics` of ``draws`` samples of ``size`` notes, one row a sample."""
    draw = np.random.default_rng(seed)
    samples = [draw.choice(len(notes), size, replace=False) for _ in range(draws)]
    return pd.DataFrame([style_statistics([notes[i] for i in rows]) for rows in samples])


def stock_sentences(notes: Iterable[str]) -> pd.Series:
    """Share of notes that hold each sentence, whatever its case, most frequent first; index: the sentence."""
    texts = list(notes)
    counts = Counter(s for note in texts for s in {found.lower() for found in note_sentences(note)})
    shares = pd.Series(dict(counts), dtype=float) / max(len(texts), 1)
    return shares.sort_values(ascending=False, kind="stable")


def five_grams(note: str, size: int = 5) -> frozenset[tuple[str, ...]]:
    """The distinct word n-grams of a note."""
    words = [word.lower() for word in _WORD.findall(note)]
    return frozenset(zip(*(words[start:] for start in range(size)), strict=False))


def near_duplicates(notes: Sequence[str], threshold: float, size: int = 5) -> list[tuple[int, int, float]]:
    """Pairs of notes whose word n-grams have a Jaccard index of at least ``threshold``: (first, second, index).

    Exact, by the prefix filter: two sets that similar share one of each set's rarest grams (Chaudhuri et al. 2006).
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
    """The highest Jaccard index of any two notes' word n-grams; 0.2 where no pair is that similar."""
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


def telling_apart(real: Floats, written: Floats, *, seed: int, folds: int = 5) -> float:
    """Cross-validated AUC of a logistic regression that tells two equal sets of note vectors apart.

    0.5 is no better than chance. Raises ValueError for sets of unequal size, with which the AUC would depend on the
    larger one's size.
    """
    if len(real) != len(written):
        raise ValueError(f"{len(real)} real and {len(written)} written notes; draw equal numbers")
    vectors = np.vstack([real, written])
    labels = np.repeat([1, 0], [len(real), len(written)])
    order = StratifiedKFold(folds, shuffle=True, random_state=seed)
    model = LogisticRegression(max_iter=2000)
    scores = cross_val_predict(model, vectors, labels, cv=order, method="decision_function")
    return float(roc_auc_score(labels, scores))


def repeated_telling_apart(real: Floats, written: Floats, *, draws: int, seed: int) -> npt.NDArray[np.float64]:
    """`telling_apart` on ``draws`` samples of ``written``, each as large as ``real``."""
    draw = np.random.default_rng(seed)
    samples = [draw.choice(len(written), len(real), replace=False) for _ in range(draws)]
    return np.array([telling_apart(real, written[rows], seed=seed + n) for n, rows in enumerate(samples)])
