"""ROUGE-1, -2, -L and -Lsum from their definitions (Lin 2004), to compare the package `rouge_score` with.

Words are runs of a-z and 0-9 in the lower-cased text, without stemming. A sentence of ROUGE-Lsum is a line.
"""

import re
from collections import Counter
from collections.abc import Sequence

Scores = dict[str, float]
"""``rouge1_f``, ``rouge1_p``, ``rouge1_r``, ... by name."""


def rouge(reference: str, output: str) -> Scores:
    """All scores of one output against its reference."""
    wanted, found = _words(reference), _words(output)
    hits = {
        "rouge1": (_shared_ngrams(wanted, found, 1), len(wanted), len(found)),
        "rouge2": (_shared_ngrams(wanted, found, 2), max(len(wanted) - 1, 0), max(len(found) - 1, 0)),
        "rougeL": (len(_common(wanted, found)), len(wanted), len(found)),
        "rougeLsum": (_union_hits(_sentences(reference), _sentences(output)), len(wanted), len(found)),
    }
    scores: Scores = {}
    for name, (hit, in_reference, in_output) in hits.items():
        precision, recall = (hit / n if n else 0.0 for n in (in_output, in_reference))
        f = 2 * precision * recall / (precision + recall) if hit else 0.0
        scores |= {f"{name}_f": f, f"{name}_p": precision, f"{name}_r": recall}
    return scores


def _words(text: str) -> list[str]:
    return re.findall(r"[a-z0-9]+", text.lower())


def _sentences(text: str) -> list[list[str]]:
    return [_words(line) for line in text.split("\n") if line]


def _shared_ngrams(wanted: Sequence[str], found: Sequence[str], n: int) -> int:
    counts = [Counter(zip(*(words[i:] for i in range(n)), strict=False)) for words in (wanted, found)]
    return sum((counts[0] & counts[1]).values())


def _common(wanted: Sequence[str], found: Sequence[str]) -> list[int]:
    """Places in ``wanted`` of one longest common subsequence, the earliest words of ``wanted`` left out first."""
    table = [[0] * (len(found) + 1) for _ in range(len(wanted) + 1)]
    for i, word in enumerate(wanted):
        for j, other in enumerate(found):
            table[i + 1][j + 1] = table[i][j] + 1 if word == other else max(table[i][j + 1], table[i + 1][j])
    i, j, places = len(wanted), len(found), []
    while i and j:
        if wanted[i - 1] == found[j - 1]:
            i, j = i - 1, j - 1
            places.append(i)
        elif table[i][j - 1] > table[i - 1][j]:
            j -= 1
        else:
            i -= 1
    return places


def _union_hits(wanted: Sequence[Sequence[str]], found: Sequence[Sequence[str]]) -> int:
    """Words of the reference's sentences in the union of their common subsequences with all sentences of the output.

    A word is counted at most as often as it occurs in either text (Section 3.2).
    """
    left = [Counter(word for sentence in text for word in sentence) for text in (wanted, found)]
    hits = 0
    for sentence in wanted:
        union = {place for other in found for place in _common(sentence, other)}
        for place in sorted(union):
            word = sentence[place]
            if all(counts[word] for counts in left):
                hits += 1
                for counts in left:
                    counts[word] -= 1
    return hits
