"""A sentence as content words, with word class, negation and certainty.

Negation follows NegEx (Chapman et al. 2001): a trigger negates the words after it up to the end of the clause, or the
words before it ("Lachman negative", "no longer present"). Certainty follows ConText (Harkema et al. 2009): a trigger
such as "possible" makes a supposition of the words after it, or of those before it where it ends the clause.
"""

import re
from typing import NamedTuple

from tasks.domains.in_use import domain_cache
from tasks.simulator.clinical.words import expand
from tasks.simulator.judge.lexicon import lexicon, rewritten, stem

SCOPE = 8  # reach of a negation within its clause, in words; restarts at each item of a list
_STOPS = frozenset(".;:!?()")


def find_negated(tokens: list[str]) -> list[bool]:
    """Whether each token is negated."""
    lex = lexicon()
    negated, left, start = [False] * len(tokens), 0, 0
    conditional = bool(tokens) and tokens[0] in ("if", "when", "although")
    for at, token in enumerate(tokens):
        before, following = _neighbours(tokens, at)
        if _ends_clause(token, before, following) or (conditional and token == ","):
            left, start, conditional = 0, at + 1, conditional and token != ","
        elif _negates(tokens, at):
            left = SCOPE
            if (token in lex.backward and following != "for") or (token == "not" and following in lex.not_seen):
                negated[start:at] = [True] * (at - start)
        elif token in (",", "and") and left and _starts_statement(tokens, at + 1):
            left = 0
        elif token in (",", "or", "nor"):  # the denied list continues
            left = SCOPE if left else 0
        else:
            negated[at] = left > 0
            left = max(left - 1, 0)
    return negated


def _negates(tokens: list[str], at: int) -> bool:
    """Whether a token is a negation; "resolved in two weeks" describes the course of something that was present."""
    following = _neighbours(tokens, at)[1]
    return tokens[at] in lexicon().negators and not (tokens[at] == "resolved" and following in lexicon().resolved_by)


def _starts_statement(tokens: list[str], start: int) -> bool:
    """Whether an item of a list affirms something: by a finite verb, or by a word for a normal state."""
    end = start
    while end < len(tokens) and tokens[end] not in (",", "and", "or", "nor") and tokens[end] not in _STOPS:
        end += 1
    item, lex = tokens[start:end], lexicon()
    if any(token in lex.finite_verbs or token in lex.normal_states for token in item):
        return True
    return len(item) > 1 and item[0].endswith("ed") and (item[1] in lex.function or item[1][0].isdigit())


def find_contexts(tokens: list[str], negated: list[bool]) -> list[str]:
    """Return for each token "subject" or "place" if it is that of a denial and is not itself denied, else "".

    "The knee is not tender", "no tenderness over the knee" and "no tenderness on pressure" deny the tenderness alone.
    """
    contexts, start, head, place = [""] * len(tokens), 0, False, False
    for at, token in enumerate(tokens):
        if token in _STOPS or token in (",", "but") or token in lexicon().negators:
            if token == "not":
                contexts[start:at] = ["subject"] * (at - start)
            start, head, place = at + 1, False, False
        elif head and token in lexicon().places:
            place = True
        elif place:
            contexts[at] = "place"
        head = head or (negated[at] and _has_content(token))
    return contexts


def _has_content(token: str) -> bool:
    lex = lexicon()
    key = stem(token)
    return token not in lex.function and key not in lex.report and key not in lex.light


def find_suppositions(tokens: list[str]) -> list[bool]:
    """Whether each token is stated as possible only."""
    possible, start, open_ = [False] * len(tokens), 0, False
    for at, token in enumerate(tokens):
        before, following = _neighbours(tokens, at)
        if _ends_clause(token, before, following) or token == ",":
            start, open_ = at + 1, False
        elif token in lexicon().suppositions or f"{token} {following}" in lexicon().suppositions:
            open_ = True
            if following in ".;:!?(),":
                possible[start:at] = [True] * (at - start)
        else:
            possible[at] = open_
    return possible


def _neighbours(tokens: list[str], at: int) -> tuple[str, str]:
    return tokens[at - 1] if at else ".", tokens[at + 1] if at + 1 < len(tokens) else "."


def _ends_clause(token: str, before: str, following: str) -> bool:
    if token == ":" and before in lexicon().negators:  # "denies: chills"
        return False
    if token in _STOPS:
        return True
    if token in lexicon().clause_words:  # "not in distress", "not on aspirin": the scope continues
        return before not in lexicon().negators
    return token in (",", "and") and following in lexicon().clause_starts


class Word(NamedTuple):
    """A content word: stem, class, whether it is negated or stated as possible only, and its part in a denial."""

    key: str
    kind: str  # "word", "light", "number", "side", "body", "drug"
    negated: bool
    possible: bool = False
    context: str = ""  # "subject", "place"


_TOKEN = re.compile(r"\d+(?:rd|th)\b|\d+(?:[.,/]\d+)*\+?|[a-z]+\d[\w-]*|[a-z]+(?:'[a-z]+)?|[.;:,()!?]")


def plain(text: str) -> str:
    """Normalise: lower case, ASCII quotes and dashes, numerals, and one word for synonymous phrases."""
    text = expand(rewritten(text.replace("’", "'"), "shorthand")).lower().replace("–", "-").replace("—", " - ")
    lex = lexicon()
    text = lex.phrases.sub(lambda match: lex.same[match.group()], rewritten(text, "spellings"))
    return _numerals().sub(lambda match: lex.numbers[match.group()], rewritten(text, "figures"))


@domain_cache(maxsize=1)
def _numerals() -> re.Pattern[str]:
    return re.compile(rf"\b(?!one\b)(?:{'|'.join(lexicon().numbers)})\b")


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
        if word := _classify(token):
            words.append(Word(*word, negated[at], possible[at], contexts[at]))
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
