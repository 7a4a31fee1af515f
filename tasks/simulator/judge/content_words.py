"""Read a sentence as content words with word class, negation and certainty.

Negation follows NegEx (Chapman et al. 2001): a trigger negates the words after it up to the end of the clause, or the
words before it ("Lachman negative", "no longer present"). Certainty follows ConText (Harkema et al. 2009): a trigger
such as "possible" makes a supposition of the words after it, or of those before it where it ends the clause.
"""

import re
from typing import NamedTuple

from tasks.domains.in_use import domain_cache
from tasks.simulator.clinical.abbreviations import expand
from tasks.simulator.judge.lexicon import lexicon, stem


class Word(NamedTuple):
    """A content word: stem, class, and whether it is negated, or stated as possible only."""

    key: str
    kind: str  # "word", "light", "number", "side", "body", "drug"
    negated: bool
    possible: bool = False


_TOKEN = re.compile(r"\d+(?:[.,/]\d+)*\+?|[a-z]+\d[\w-]*|[a-z]+(?:'[a-z]+)?|[.;:,()!?]")
SCOPE = 8  # reach of a negation within its clause, in words; restarts at each item of a list
_SPLIT_NEGATIVE = re.compile(r"\b(?:non-?)(tender|distended|displaced|obstructing|productive|compliant)\b")
_CONTRACTED = re.compile(r"\b(is|was|does|do|did|has|have|had|are|were|wo|ca|could|would|should)\s?n['’]?t\b")


def plain(text: str) -> str:
    """Normalise: lower case, ASCII quotes and dashes, numerals, and one word for synonymous phrases."""
    text = expand(text.replace("’", "'")).lower().replace("–", "-").replace("—", " - ")
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
    words = []
    for at, (token, negated, possible) in enumerate(zip(tokens, _scopes(tokens), _suppositions(tokens), strict=True)):
        if token == "both" and "and" in tokens[at + 1 : at + 6]:  # "both active and passive" is no laterality
            continue
        word = _classify(token)
        if word is not None:
            key, kind = word
            words.append(Word(key, kind, negated, possible))
    return tuple(words)


def _scopes(tokens: list[str]) -> list[bool]:
    lex = lexicon()
    negated, left, start = [False] * len(tokens), 0, 0
    conditional = bool(tokens) and tokens[0] in ("if", "when", "although")
    for at, token in enumerate(tokens):
        before = tokens[at - 1] if at else "."
        following = tokens[at + 1] if at + 1 < len(tokens) else "."
        if _ends_clause(token, before, following) or (conditional and token == ","):
            left, start, conditional = 0, at + 1, conditional and token != ","
        elif token in lex.negators:
            left = SCOPE
            if (token in lex.backward and following != "for") or (token == "not" and following in lex.not_seen):
                negated[start:at] = [True] * (at - start)
        elif token in (",", "or", "nor", "/"):  # the denied list continues
            left = SCOPE if left else 0
        else:
            negated[at] = left > 0
            left = max(left - 1, 0)
    return negated


def _suppositions(tokens: list[str]) -> list[bool]:
    """Whether each token is stated as possible only."""
    possible, start, open_ = [False] * len(tokens), 0, False
    for at, token in enumerate(tokens):
        before = tokens[at - 1] if at else "."
        following = tokens[at + 1] if at + 1 < len(tokens) else "."
        if _ends_clause(token, before, following) or token == ",":
            start, open_ = at + 1, False
        elif token in lexicon().suppositions or f"{token} {following}" in lexicon().suppositions:
            open_ = True
            if following in ".;:!?(),":
                possible[start:at] = [True] * (at - start)
        else:
            possible[at] = open_
    return possible


def _ends_clause(token: str, before: str, following: str) -> bool:
    if token == ":" and before in lexicon().negators:  # "denies: chills"
        return False
    if token in ".;:!?()":
        return True
    if token in lexicon().clause_words:  # "not in distress", "not on aspirin": the scope continues
        return before not in lexicon().negators
    return token in (",", "and") and following in lexicon().clause_starts


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
    key = stem(token.removesuffix("'s"))
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
