"""Quality of the simulator's notes: style, stock sentences, near-duplicates, separability from real notes, truth.

The measures of style use texts and vectors only, no planted truth.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from tasks.domains.rules import PromptingRules
from tasks.judges.simulated_notes import PROVENANCE, GoldNotes, gold_spans, gold_texts, write_gold
from tasks.network.graph import NetworkDefinition
from tasks.network.sampling import sample
from tasks.notes.prompting import build_prompts
from tasks.simulator.truth import ERROR_KINDS
from tasks.spans.statistics import span_statistics
from tasks.statistics.intervals import LEVEL
from tasks.statistics.metric_rows import Row, mean_row, metric_row, metric_table
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


def five_grams(note: str) -> frozenset[tuple[str, ...]]:
    """The distinct word 5-grams of a note."""
    words = [word.lower() for word in _WORD.findall(note)]
    return frozenset(zip(*(words[start:] for start in range(5)), strict=False))


def near_duplicates(notes: Sequence[str], threshold: float) -> list[tuple[int, int, float]]:
    """Pairs of notes whose word 5-grams have a Jaccard index of at least ``threshold``: (first, second, index).

    Exact, with a prefix filter: two such sets share at least one of each set's rarest 5-grams (Chaudhuri et al. 2006).
    """
    grams = [five_grams(note) for note in notes]
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


def highest_overlap(notes: Sequence[str]) -> float:
    """The highest Jaccard index of the word 5-grams of any two notes, or 0.2 if no pair reaches that."""
    for threshold in (0.8, 0.6, 0.4, 0.3, 0.2):
        if pairs := near_duplicates(notes, threshold):
            return max(index for _, _, index in pairs)
    return 0.2


def note_vectors(notes: Sequence[str], encode: Callable[[list[str]], Floats]) -> Floats:
    """Mean sentence vector of each note, shape (notes, dimension)."""
    by_note = [note_sentences(note) for note in notes]
    vectors = encode([sentence for found in by_note for sentence in found])
    ends = np.cumsum([len(found) for found in by_note])
    return np.array([part.mean(axis=0) for part in np.split(vectors, ends[:-1])])


def separability(real: Floats, written: Floats, *, seed: int) -> float:
    """Cross-validated AUC of a logistic regression that classifies note vectors as real or written; 0.5 is chance.

    Raises ValueError for sets of unequal size, since the AUC would depend on the size of the larger one.
    """
    if len(real) != len(written):
        raise ValueError(f"{len(real)} real and {len(written)} written notes; draw equal numbers")
    vectors = np.vstack([real, written])
    labels = np.repeat([1, 0], [len(real), len(written)])
    order = StratifiedKFold(5, shuffle=True, random_state=seed)
    model = LogisticRegression(max_iter=2000)
    scores = cross_val_predict(model, vectors, labels, cv=order, method="decision_function")
    return float(roc_auc_score(labels, scores))


def repeated_separability(real: Floats, written: Floats, *, draws: int, seed: int) -> npt.NDArray[np.float64]:
    """`separability` of ``real`` and each of ``draws`` equally large samples of ``written``, shape (draws,)."""
    draw = np.random.default_rng(seed)
    samples = [draw.choice(len(written), len(real), replace=False) for _ in range(draws)]
    return np.array([separability(real, written[rows], seed=seed + n) for n, rows in enumerate(samples)])


STAGE = "simulator_quality"
_STOCK_SHARE, _DUPLICATE = 0.02, 0.8


def text_rows(notes: Mapping[str, Sequence[str]], with_symptoms: Sequence[str], seed: int) -> pd.DataFrame:
    """Rows that need no real notes: stock sentences, near-duplicates, length of compact over normal notes.

    ``notes``: texts by version, in the same order. ``with_symptoms``: normal notes of patients with symptoms.
    """
    rows = []
    for version, texts in notes.items():
        shares = stock_sentences(texts)
        keys: Row = {"n": len(texts), "condition": version}
        often = int((shares > _STOCK_SHARE).sum())
        rows.append(metric_row("share_of_notes", float(shares.iloc[0]), item="most frequent sentence", **keys))
        rows.append(metric_row("count", often, item="sentences in over 2%", **keys))
    overlap: Row = {"n": len(with_symptoms), "condition": "normal", "item": "word 5-gram Jaccard"}
    rows.append(metric_row("pairs_at_0.8", len(near_duplicates(with_symptoms, _DUPLICATE)), **overlap))
    rows.append(metric_row("highest_at_most", highest_overlap(with_symptoms), **overlap))
    shortening = mean_row(
        "characters_over_normal", _shortening(notes), bounds=None, seed=seed, condition="compact", item="all"
    )
    return _table([*rows, shortening])


def _shortening(notes: Mapping[str, Sequence[str]]) -> list[float]:
    """Length of each compact version over that of its note."""
    return [len(b) / len(a) for a, b in zip(notes["normal"], notes["compact"], strict=True)]


def style_rows(
    written: Mapping[str, Sequence[str]], real: Mapping[str, Sequence[str]], *, draws: int, seed: int
) -> pd.DataFrame:
    """Style of real notes, of equally large samples of written notes, and their ratio, by version."""
    rows = []
    for version, texts in real.items():
        published = style_statistics(texts)
        samples = repeated_style(written[version], len(texts), draws, seed)
        keys: Row = {"n": len(texts), "condition": version}
        for metric in STYLE:
            ratio, low, high = _drawn(samples[metric].to_numpy() / published[metric])
            rows.append(metric_row(metric, published[metric], item="style, real", **keys))
            rows.append(metric_row(metric, float(samples[metric].mean()), item="style, simulated", seed=seed, **keys))
            rows.append(metric_row(metric, ratio, low, high, item="style, ratio", seed=seed, **keys))
    shortened: Row = {"n": len(real["normal"]), "condition": "compact", "item": "style, real"}
    rows.append(metric_row("characters_over_normal", float(np.mean(_shortening(real))), **shortened))
    return _table(rows)


def _drawn(values: npt.NDArray[np.float64]) -> tuple[float, float, float]:
    """Mean of draws, and the range of the middle 95% of them."""
    low, high = np.quantile(values, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(values.mean()), float(low), float(high)


def separability_rows(
    real: Mapping[str, Floats], written: Mapping[str, Floats], *, draws: int, seed: int, encoder: str
) -> pd.DataFrame:
    """AUC of separating real from written notes by their mean sentence vectors, by version."""
    rows = []
    for version, vectors in real.items():
        found = _drawn(repeated_separability(vectors, written[version], draws=draws, seed=seed))
        keys: Row = {"condition": version, "item": "real or simulated", "provenance": f"{PROVENANCE}; {encoder}"}
        rows.append(metric_row("auc", *found, n=len(vectors), seed=seed, **keys))
    return _table(rows)


def error_rows(notes: GoldNotes) -> pd.DataFrame:
    """Share (0-1) of texts with each kind of planted error, by version."""
    rows = []
    for version, own in notes.items():
        counts = Counter(known.error.kind for known in own.values() if known.error)
        shares = {kind: counts[kind] for kind in ERROR_KINDS[version]} | {"all errors": counts.total()}
        keys: Row = {"n": len(own), "condition": version}
        rows += [metric_row("planted_share", count / len(own), item=kind, **keys) for kind, count in shares.items()]
    return _table(rows)


def _table(rows: list[Row]) -> pd.DataFrame:
    return metric_table(rows, stage=STAGE, system="simulator's writer", provenance=PROVENANCE)


def writer_quality(
    network: NetworkDefinition, rules: PromptingRules, size: int, *, seed: int, stage: str
) -> tuple[GoldNotes, pd.DataFrame]:
    """Notes of ``size`` fresh records, and the metric rows that need no real notes."""
    records = sample(network, size, seed)
    prompts = build_prompts(records, network, rules, seed)
    notes = write_gold(prompts)
    spans, values = gold_spans(notes), records[["record", *rules.symptoms]]
    about: dict[str, Any] = {"seed": seed, "system": "gold spans", "provenance": PROVENANCE, "stage": stage}
    tables = [span_statistics(spans, values, version, **about) for version in notes]
    symptomatic = prompts.loc[prompts["kind"] == "symptoms", "record"]
    texts = gold_texts(notes)
    with_symptoms = [texts["normal"][record] for record in sorted(symptomatic)]
    tables.append(text_rows({version: list(own.values()) for version, own in texts.items()}, with_symptoms, seed))
    tables.append(error_rows(notes))
    return notes, pd.concat(tables, ignore_index=True).assign(stage=stage)
