"""ROUGE-L and ROUGE-Lsum (Lin 2004, Sections 3.1 and 3.2) on tokens, with the numbers of the package `rouge_score`.

The package fills a table of both lengths in Python. Here, a row of the table is one integer, whose bits mark where the
length of the longest common subsequence does not grow (Hyyrö 2004), which takes a hundredth of the time on notes.
"""

from collections import Counter
from collections.abc import Iterator, Sequence

Tokens = Sequence[str]
Score = tuple[float, float, float]
"""F, precision and recall."""
NOTHING: Score = (0.0, 0.0, 0.0)


def rouge_l(reference: Tokens, output: Tokens) -> Score:
    """Length of the longest common subsequence over that of the output (precision) and the reference (recall)."""
    if not reference or not output:
        return NOTHING
    *_, last = _rows(reference, output)
    return _score(_length(last, len(output)), len(output), len(reference))


def rouge_lsum(reference: Sequence[Tokens], output: Sequence[Tokens]) -> Score:
    """The same by line: tokens of each reference line that are in its common subsequence with any output line.

    A token counts as often as both texts have it at most, as in ROUGE 1.5.5 and `rouge_score`.
    """
    sizes = sum(map(len, output)), sum(map(len, reference))
    if not all(sizes):
        return NOTHING
    left = Counter(token for line in output for token in line) & Counter(token for line in reference for token in line)
    hits = 0
    for line in reference:
        for at in sorted(set().union(*(common_places(line, other) for other in output))):
            if left[line[at]] > 0:
                hits += 1
                left[line[at]] -= 1
    return _score(hits, *sizes)


def common_places(reference: Tokens, output: Tokens) -> list[int]:
    """Places in ``reference`` of one longest common subsequence; of several, that which `rouge_score` reads out."""
    if set(reference).isdisjoint(output):
        return []
    rows, found = [(1 << len(output)) - 1, *_rows(reference, output)], []
    i, j = len(reference), len(output)
    while i and j:
        if reference[i - 1] == output[j - 1]:
            i, j = i - 1, j - 1
            found.append(i)
        elif _length(rows[i], j - 1) > _length(rows[i - 1], j):
            j -= 1
        else:
            i -= 1
    return found


def _rows(reference: Tokens, output: Tokens) -> Iterator[int]:
    """A row for each reference token; bit j is 0 where the length grows from j to j + 1 output tokens."""
    places: dict[str, int] = {}
    for at, token in enumerate(output):
        places[token] = places.get(token, 0) | 1 << at
    full = row = (1 << len(output)) - 1
    for token in reference:
        shared = row & places.get(token, 0)
        row = ((row + shared) | (row - shared)) & full
        yield row


def _length(row: int, tokens: int) -> int:
    """Length of the longest common subsequence with the first ``tokens`` output tokens."""
    return tokens - (row & ((1 << tokens) - 1)).bit_count()


def _score(hits: int, of_output: int, of_reference: int) -> Score:
    precision, recall = hits / of_output, hits / of_reference
    return (2 * precision * recall / (precision + recall) if hits else 0.0), precision, recall
