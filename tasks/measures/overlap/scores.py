"""ROUGE-L and ROUGE-Lsum (Lin 2004, Sections 3.1 and 3.2) on tokens, with the numbers of the package `rouge_score`.

The package fills a table of both lengths in Python. Here, a row of the table is one integer, whose bits mark where the
length of the longest common subsequence does not grow (Hyyrö 2004), which takes a hundredth of the time on notes.

Overlap metrics through maintained packages: ROUGE, BLEU, BERTScore, length.

The only importer of rouge_score, sacrebleu and bert_score. DocLens's ROUGE figures are `rouge_score` without stemming;
its Rouge-L of a whole note is rougeLsum.
"""

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd
import sacrebleu
from rouge_score import rouge_scorer, tokenizers

from tasks.text.soap import PARTS, split_soap

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


ROUGE = ("rouge1", "rouge2", "rougeL", "rougeLsum")
EMPTY_PART = "#####EMPTY#####"
"""What ACI-BENCH's script puts for a part that a note does not have; two empty parts agree fully."""
LINE_BREAK = "__lf1__"
"""What ACI-BENCH's script leaves for a line break in a part: `rouge_score` reads a token ``lf1`` there."""

ABSENT = {
    "bleurt": "needs the BLEURT-20 checkpoint and the bleurt package, which is not on PyPI",
    "medcon": "needs a UMLS licence and QuickUMLS installed with it",
    "f1_radgraph": "needs the RadGraph model, released under PhysioNet's credentialed licence",
}
"""Metrics of the papers that are not computed here, and their requirements."""


def rouge(references: Sequence[str], outputs: Sequence[str]) -> pd.DataFrame:
    """ROUGE of each output against its reference (Lin 2004): columns ``rouge1_f`` (F), ``rouge1_p``, ``rouge1_r``."""
    tokenizer = tokenizers.DefaultTokenizer(use_stemmer=False)
    scorer = rouge_scorer.RougeScorer(["rouge1", "rouge2"], tokenizer=tokenizer)
    rows = []
    for reference, output in zip(references, outputs, strict=True):
        found = scorer.score(reference, output)
        whole = [tokenizer.tokenize(text) for text in (reference, output)]
        lines = [[tokenizer.tokenize(line) for line in text.split("\n") if line] for text in (reference, output)]
        ngrams = [(one.fmeasure, one.precision, one.recall) for one in (found["rouge1"], found["rouge2"])]
        scores = [*ngrams, rouge_l(*whole), rouge_lsum(*lines)]
        rows.append([value for score in scores for value in score])
    columns = [f"{name}_{part}" for name in ROUGE for part in "fpr"]
    return pd.DataFrame(rows, columns=columns, dtype=float)


def bleu(references: Sequence[str], outputs: Sequence[str]) -> pd.DataFrame:
    """Sentence BLEU of each output, 0 to 1 (sacrebleu's defaults, effective order)."""
    scorer = sacrebleu.BLEU(effective_order=True)
    values = [scorer.sentence_score(o, [r]).score / 100 for r, o in zip(references, outputs, strict=True)]
    return pd.DataFrame({"bleu": np.array(values, dtype=float)})


def corpus_bleu(references: Sequence[str], outputs: Sequence[str]) -> float:
    """BLEU of all outputs together, 0 to 1 (sacrebleu's defaults)."""
    return float(sacrebleu.corpus_bleu(list(outputs), [list(references)]).score) / 100


def length(outputs: Sequence[str]) -> pd.DataFrame:
    """Words of each output."""
    return pd.DataFrame({"words": np.array([len(output.split()) for output in outputs], dtype=float)})


def bert_score(
    references: Sequence[str], outputs: Sequence[str], *, model: str, layer: int | None = None
) -> tuple[pd.DataFrame | None, str | None]:
    """BERTScore (Zhang et al. 2020) with a model's name or folder; None and a reason if it is not available.

    A pair with an empty text scores 0, as the package fails on it with recent tokenizers.
    """
    from bert_score import BERTScorer

    filled = [at for at, texts in enumerate(zip(references, outputs, strict=True)) if all(t.strip() for t in texts)]
    values = np.zeros((3, len(outputs)))
    try:
        scorer = BERTScorer(model_type=model, num_layers=layer, lang="en")
        if filled:
            scored = scorer.score([outputs[at] for at in filled], [references[at] for at in filled])
            values[:, filled] = np.stack([one.numpy() for one in scored])
    except (OSError, KeyError, ValueError, AssertionError) as error:
        return None, f"BERTScore model {model}: {' '.join(str(error).split())[:200]}"
    return pd.DataFrame(dict(zip(("bertscore_p", "bertscore_r", "bertscore_f1"), values, strict=True))), None


def overlap_scores(references: Sequence[str], outputs: Sequence[str]) -> pd.DataFrame:
    """ROUGE, BLEU and length of each output, one row each."""
    return pd.concat([rouge(references, outputs), bleu(references, outputs), length(outputs)], axis=1)


def part_texts(notes: Sequence[str], part: str) -> list[str]:
    """One part of each note in the form scored by ACI-BENCH's script, with marks for line breaks and missing parts."""
    if part not in PARTS:
        raise ValueError(f"unknown part {part}; expected one of {', '.join(PARTS)}")
    return [split_soap(note).get(part, EMPTY_PART).replace("\n", LINE_BREAK) for note in notes]
