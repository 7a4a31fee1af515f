"""ROUGE, BLEU and BERTScore of outputs with their references: scores, means, and agreement with judged metrics.

The only importer of rouge_score, sacrebleu and bert_score. DocLens's ROUGE figures are `rouge_score` without stemming;
its Rouge-L of a whole note is rougeLsum. Agreement is that of DocLens (Section 4.4) over notes and systems.

ROUGE-L and ROUGE-Lsum (Lin 2004, Sections 3.1 and 3.2) have the numbers of `rouge_score`, which fills a table of
lengths in Python. Here, a row of the table is one integer, whose bits mark where the length of the longest common
subsequence does not grow (Hyyrö 2004), which takes a hundredth of the time on notes.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations, product
from typing import Any
from unicodedata import category, normalize

import numpy as np
import pandas as pd
import sacrebleu
from rouge_score import rouge_scorer, tokenizers
from scipy import stats

from schemas.params.measures import Overlap
from schemas.tables.verdicts import LOST, verdict_table
from tasks.measures.measure import Metric, Metrics, figures
from tasks.statistics.agreement import correlation_interval
from tasks.statistics.intervals import COUNT
from tasks.statistics.metric_rows import COMPUTED, NAN, Row, metric_row, metric_table
from tasks.text.soap import split_soap
from tasks.texts.document import WHOLE, Document, Sectioning, compared_sections, system_names

Tokens = Sequence[str]
Score = tuple[float, float, float]
"""F, precision and recall."""


def rouge_lsum(reference: Sequence[Tokens], output: Sequence[Tokens]) -> Score:
    """By line: tokens of each reference line that are in its common subsequence with any output line.

    A token counts as often as both texts have it at most, as in ROUGE 1.5.5 and `rouge_score`.
    """
    left = Counter(token for line in output for token in line) & Counter(token for line in reference for token in line)
    hits = 0
    for line in reference:
        for at in sorted(set().union(*(common_places(line, other) for other in output))):
            if left[line[at]] > 0:
                hits += 1
                left[line[at]] -= 1
    return _score(hits, sum(map(len, output)), sum(map(len, reference)))


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
    if not hits:
        return 0.0, 0.0, 0.0
    precision, recall = hits / of_output, hits / of_reference
    return 2 * precision * recall / (precision + recall), precision, recall


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


_UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\uff66-\uff9f]")
"""Characters of scripts that put no space between words: Thai, Lao, Burmese, Khmer, kana, and Chinese characters."""


class Words(tokenizers.Tokenizer):
    """Words of all alphabets; characters of scripts that put no space between words.

    For references with letters beyond a to z, which the tokenizer of `rouge_score` drops: it reads "tête" as "t" and
    "te", and nothing in Chinese.
    """

    def tokenize(self, text: str) -> list[str]:
        """The tokens of a text."""
        return "".join(map(_spaced, normalize("NFC", text).lower())).split()


def _spaced(character: str) -> str:
    """A letter, a mark of one or a digit, between spaces if it is a token; a space for other characters."""
    if not (character.isalpha() or character.isdecimal() or category(character)[0] == "M"):
        return " "
    return f" {character} " if _UNSPACED.match(character) and not character.isdecimal() else character


def _tokenizer(reference: str) -> tokenizers.Tokenizer:
    beyond = any(character.isalpha() and not character.isascii() for character in reference)
    return Words() if beyond else tokenizers.DefaultTokenizer(use_stemmer=False)


def has_words(reference: str) -> bool:
    """Whether a reference has any token; one without cannot be overlapped."""
    return bool(_tokenizer(reference).tokenize(reference))


def rouge(references: Sequence[str], outputs: Sequence[str]) -> pd.DataFrame:
    """ROUGE of each output (Lin 2004): ``rouge1_f``, ``_p``, ``_r``, ...; null for a reference without words."""
    rows = []
    for reference, output in zip(references, outputs, strict=True):
        if not has_words(reference):
            rows.append([NAN] * 3 * len(ROUGE))
            continue
        tokenizer = _tokenizer(reference)
        found = rouge_scorer.RougeScorer(["rouge1", "rouge2"], tokenizer=tokenizer).score(reference, output)
        whole = [tokenizer.tokenize(text) for text in (reference, output)]
        lines = [[tokenizer.tokenize(line) for line in text.split("\n") if line] for text in (reference, output)]
        ngrams = [(one.fmeasure, one.precision, one.recall) for one in (found["rouge1"], found["rouge2"])]
        longest = _score(len(common_places(*whole)), len(whole[1]), len(whole[0]))
        scores = [*ngrams, longest, rouge_lsum(*lines)]
        rows.append([value for score in scores for value in score])
    columns = [f"{name}_{part}" for name in ROUGE for part in "fpr"]
    return pd.DataFrame(rows, columns=columns, dtype=float)


def bert_score(references: Sequence[str], outputs: Sequence[str], params: Overlap) -> tuple[pd.DataFrame | None, str]:
    """BERTScore (Zhang et al. 2020) by the model of ``params``; None and a reason if it is not available.

    A pair with an empty text scores 0, as the package fails on it with recent tokenizers.
    """
    if params.bert_score_model is None:
        return None, "needs overlap.bert_score_model, a model's name or folder"
    from bert_score import BERTScorer

    filled = [at for at, texts in enumerate(zip(references, outputs, strict=True)) if all(t.strip() for t in texts)]
    values = np.zeros((3, len(outputs)))
    try:
        scorer = BERTScorer(model_type=params.bert_score_model, num_layers=params.bert_score_layer, lang="en")
        if filled:
            scored = scorer.score([outputs[at] for at in filled], [references[at] for at in filled])
            values[:, filled] = np.stack([one.numpy() for one in scored])
    except (OSError, KeyError, ValueError, AssertionError) as error:
        return None, f"BERTScore model {params.bert_score_model}: {' '.join(str(error).split())[:200]}"
    return pd.DataFrame(dict(zip(("bertscore_p", "bertscore_r", "bertscore_f1"), values, strict=True))), ""


def part_texts(notes: Sequence[str], part: str) -> list[str]:
    """One part of each note in the form scored by ACI-BENCH's script, with marks for line breaks and missing parts."""
    return [split_soap(note).get(part, EMPTY_PART).replace("\n", LINE_BREAK) for note in notes]


NAME = "overlap"
# --8<-- [start:metrics]
_MEAN = Metric(pooled=False, ranged=False, judged=False, as_percent=False)
_BERT = replace(_MEAN, bounds=None)
_MEANING = {
    "rouge1_f": "overlap of words with the reference (F1)",
    "rouge2_f": "overlap of word pairs with the reference (F1)",
    "rougeL_f": "longest common subsequence with the reference, line breaks as blanks (F1)",
    "rougeLsum_f": "longest common subsequence with the reference (F1)",
    "bleu": "BLEU, 0 to 1",
    "words": "mean words",
    "bertscore_f1": "similarity of word vectors with the reference (F1)",
}
"""Of the metrics by which systems are compared; the others would add tests of nearly the same difference."""
_LABEL = {"rouge1_f": "ROUGE-1", "rouge2_f": "ROUGE-2", "rougeLsum_f": "ROUGE-Lsum", "bertscore_f1": "BERTScore"}
_METRICS: Metrics = {
    **dict.fromkeys((f"{name}_{part}" for name in ROUGE for part in "fpr"), _MEAN),
    **{"bleu": _MEAN, "words": replace(_MEAN, bounds=COUNT)},
    **dict.fromkeys(("bertscore_p", "bertscore_r", "bertscore_f1"), _BERT),
}
METRICS: Metrics = {
    name: replace(one, compared=name in _MEANING, meaning=_MEANING.get(name, ""), label=_LABEL.get(name, ""))
    for name, one in _METRICS.items()
}
# --8<-- [end:metrics]
RECALL = ("rouge1_r", "rouge2_r", "rougeLsum_r", "bertscore_r", "claim_recall")
PRECISION = ("rouge1_p", "rouge2_p", "rougeLsum_p", "bleu", "bertscore_p", "claim_precision")
Absent = dict[str, str]


def score_texts(references: Sequence[str], outputs: Sequence[str], params: Overlap) -> tuple[pd.DataFrame, Absent]:
    """Every overlap metric of each output (one row per output, in order), and the absent metrics with reasons.

    ROUGE, sentence BLEU (0 to 1; sacrebleu's defaults, effective order), words, and BERTScore where a model is named.
    """
    scorer = sacrebleu.BLEU(effective_order=True)
    bleu = [scorer.sentence_score(o, [r]).score / 100 for r, o in zip(references, outputs, strict=True)]
    counts = {"bleu": bleu, "words": [len(output.split()) for output in outputs]}
    wide = rouge(references, outputs).assign(**{name: np.array(values, dtype=float) for name, values in counts.items()})
    found, reason = bert_score(references, outputs, params)
    if found is None:
        return wide, {**ABSENT, "bertscore": reason}
    return pd.concat([wide, found], axis=1), dict(ABSENT)


def score_outputs(documents: Sequence[Document], params: Overlap) -> tuple[pd.DataFrame, Absent]:
    """Every overlap metric of each output with its reference: columns document, system and one a metric, sorted."""
    rows = [(one.id, system, str(one.reference), text) for one in documents for system, text in one.outputs.items()]
    keys = pd.DataFrame(sorted(rows), columns=["document", "system", "reference", "output"], dtype="str")
    found, absent = score_texts(keys.pop("reference").tolist(), keys.pop("output").tolist(), params)
    return pd.concat([keys, found], axis=1), absent


def verdicts_of(scored: pd.DataFrame, sections: pd.DataFrame | None = None, *, condition: str = NAME) -> pd.DataFrame:
    """VERDICTS of each overlap metric of `score_outputs` and `section_rouge`; a text without a value is lost."""
    whole = scored.melt(id_vars=["document", "system"], var_name="metric").assign(item=WHOLE)
    found = pd.concat([whole] if sections is None else [whole, sections], ignore_index=True)
    found["unit"] = found["value"].isna().map({True: LOST, False: "0"})
    return verdict_table(found.assign(condition=condition, text="").to_dict("records"), judge=COMPUTED)


def overlap_rows(
    verdicts: pd.DataFrame, absent: Absent, *, stage: str, seed: int, condition: str = NAME, of: str = "all systems"
) -> pd.DataFrame:
    """METRICS: the mean of each overlap metric by system and item, and absent metrics."""
    rows = [
        metric_row(metric, NAN, n=0, system=of, item=WHOLE, condition=condition, provenance=f"absent: {reason}")
        for metric, reason in sorted(absent.items())
    ]
    found = figures(verdicts, METRICS, stage=stage, seed=seed, provenance=COMPUTED)
    return pd.concat([found, metric_table(rows, stage=stage)], ignore_index=True)


def section_rouge(documents: Sequence[Document], how: Sectioning) -> pd.DataFrame:
    """ROUGE of the outputs by section: document, system, item, metric, value; empty for undivided texts.

    SOAP parts are scored as by ACI-BENCH's script: two notes that both lack a part agree fully on it. Other sections
    are scored where the reference has them.
    """
    columns = ["document", "system", "item"]
    rows, references, outputs = [], list[str](), list[str]()
    for system, one in product(system_names(documents), documents if how != "whole" else ()):
        if system not in one.outputs or one.reference is None:
            continue
        for name, (reference, output) in compared_sections(one, one.outputs[system], how).items():
            if how == "soap":
                reference, output = part_texts([one.reference, one.outputs[system]], name)
            if reference and name != WHOLE:  # of an undivided text among divided ones
                rows.append((one.id, system, name))
                references.append(reference)
                outputs.append(output)
    keys = pd.DataFrame(rows, columns=columns, dtype="str")
    return pd.concat([keys, rouge(references, outputs)], axis=1).melt(id_vars=columns, var_name="metric")


def beside_claims(scored: pd.DataFrame, judged: pd.DataFrame) -> pd.DataFrame:
    """``scored`` of `score_outputs` with a column for each judged score of the same text as a whole."""
    whole = judged[judged["item"] == WHOLE]
    claims = whole.pivot_table(index=["document", "system"], columns="metric", values="value").reset_index()
    return scored.merge(claims, on=["document", "system"], how="left")


def correlated(overlap: pd.DataFrame) -> list[str]:
    """The overlap metrics of a table that are correlated with other scores: F values, BLEU and BERTScore."""
    return [name for name in overlap if name.endswith("_f") or name == "bleu" or name.startswith("bertscore")]


def agreement_rows(scores: pd.DataFrame, **about: Any) -> pd.DataFrame:
    """Kendall's tau-b between every two metrics of each group (recall-based, precision-based), over notes and systems.

    ``scores`` has one row per note and system: ``document``, ``system`` and a column per metric. The unit is a row for
    notes, whose interval is over documents, and a system's mean for systems; those without both scores are unscored.
    ``about``: shared columns of METRICS.
    """
    rows = []
    for names in (RECALL, PRECISION):
        for one, other in combinations([name for name in names if name in scores], 2):
            pair = scores[["document", "system", one, other]].dropna()
            means = pair.groupby("system", as_index=False)[[one, other]].mean()
            item = f"{one} and {other}"
            for over, table, clusters in (("notes", pair, pair["document"]), ("systems", means, None)):
                tau = correlation_interval(table[one], table[other], "kendall", clusters=clusters)
                lost = (len(scores) if over == "notes" else scores["system"].nunique()) - len(table)
                rows.append(metric_row("kendall", *tau, n=len(table), unscored=lost, system=over, item=item))
    return metric_table(rows, **about)


def score_correlations(
    scores: pd.DataFrame, named: Mapping[str, str], overlap: Sequence[str], **about: Any
) -> pd.DataFrame:
    """Spearman and Pearson of columns ``named`` with overlap metrics, by system, with two-sided p values."""
    rows, kinds = list[Row](), (("spearman", stats.spearmanr), ("pearson", stats.pearsonr))
    for (system, group), (other, column), name in product(scores.groupby("system", sort=True), named.items(), overlap):
        if column in scores and name in scores:
            pair = group[[column, name]].dropna()
            one, two = pair[column].to_numpy(dtype=float), pair[name].to_numpy(dtype=float)
            defined = len(one) > 2 and np.unique(one).size > 1 and np.unique(two).size > 1
            about_pair: Row = {"n": len(one), "unscored": len(group) - len(one), "system": str(system)}
            about_pair["item"] = f"{other} and {name}"
            for kind, measure in kinds:
                value, p = (float(number) for number in measure(one, two)) if defined else (NAN, NAN)
                rows += [metric_row(kind, value, **about_pair), metric_row(f"{kind}_p", p, **about_pair)]
    return metric_table(rows, **about)
