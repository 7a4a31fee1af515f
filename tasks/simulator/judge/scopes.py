"""Reach of negations and suppositions among the tokens of a sentence.

Negation follows NegEx (Chapman et al. 2001): a trigger negates the words after it up to the end of the clause, or the
words before it ("Lachman negative", "no longer present"). Certainty follows ConText (Harkema et al. 2009): a trigger
such as "possible" makes a supposition of the words after it, or of those before it where it ends the clause.
"""

from tasks.simulator.judge.lexicon import lexicon, stem

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
