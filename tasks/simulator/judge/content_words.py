"""Read a sentence as content words with word class, negation and certainty."""

import re
from typing import NamedTuple

from tasks.domains.in_use import domain_cache
from tasks.simulator.clinical.abbreviations import expand
from tasks.simulator.judge.lexicon import lexicon, stem
from tasks.simulator.judge.scopes import find_contexts, find_negated, find_suppositions
from tasks.simulator.judge.shorthand import unify, write_out


class Word(NamedTuple):
    """A content word: stem, class, whether it is negated or stated as possible only, and its part in a denial."""

    key: str
    kind: str  # "word", "light", "number", "side", "body", "drug"
    negated: bool
    possible: bool = False
    context: str = ""  # "subject", "place"


_TOKEN = re.compile(r"\d+(?:rd|th)\b|\d+(?:[.,/]\d+)*\+?|[a-z]+\d[\w-]*|[a-z]+(?:'[a-z]+)?|[.;:,()!?]")
_SPLIT_NEGATIVE = re.compile(r"\b(?:non-?)(tender|distended|displaced|obstructing|productive|compliant)\b")
_CONTRACTED = re.compile(r"\b(is|was|does|do|did|has|have|had|are|were|wo|ca|could|would|should)\s?n['’]?t\b")


def plain(text: str) -> str:
    """Normalise: lower case, ASCII quotes and dashes, numerals, and one word for synonymous phrases."""
    text = expand(write_out(text.replace("’", "'"))).lower().replace("–", "-").replace("—", " - ")
    text = unify(text)
    text = _CONTRACTED.sub(r"\1 not", text)
    text = _SPLIT_NEGATIVE.sub(r"no \1", text)
    lex = lexicon()
    text = lex.phrases.sub(lambda match: lex.same[match.group()], text)
    text = re.sub(r"(?<=\d),(?=\d{3}\b)", "", text)
    text = re.sub(r"\b(\d[\d.]*)(mg|mcg|ml|cm|mm|kg|lb|lbs|g|bpm|f|c)\b", r"\1 \2", text)
    numbers = lex.numbers
    return re.sub(r"\b(?!one\b)(?:" + "|".join(numbers) + r")\b", lambda match: numbers[match.group()], text)


@domain_cache(maxsize=50_000)
def read(text: str) -> tuple[Word, ...]:
    """Return the content words of ``text`` in order, without function words and reporting verbs."""
    tokens = _TOKEN.findall(plain(text))
    negated = find_negated(tokens)
    contexts, possible = find_contexts(tokens, negated), find_suppositions(tokens)
    words = []
    for at, token in enumerate(tokens):
        if token == "both" and "and" in tokens[at + 1 : at + 6]:  # "both active and passive" is no laterality
            continue
        word = _classify(token)
        if word is not None:
            key, kind = word
            words.append(Word(key, kind, negated[at], possible[at], contexts[at]))
    return tuple(words)


def _classify(token: str) -> tuple[str, str] | None:
    lex = lexicon()
    if token[0].isdigit():
        return _number(token), "number"
    if token in lex.sides:
        return lex.sides[token], "side"
    if not token[0].isalpha() or token in lex.function or token in lex.negators:
        return None
    if any(character.isdigit() for character in token):
        return token, "number"
    key = token if token in lex.unstemmed else stem(token.removesuffix("'s"))
    if key in lex.report:
        return None
    if key in lex.body:
        return key, "body"
    if key in lex.drugs or token.endswith(lex.drug_endings):
        return key, "drug"
    return key, "light" if key in lex.light else "word"


def _number(token: str) -> str:
    token = token.rstrip("+")
    return re.sub(r"(\.\d*?)0+$", r"\1", token).rstrip(".") if "." in token else token
