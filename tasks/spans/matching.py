"""Matches phrases to offsets in a note, ignoring case, punctuation and white space (SimSUM, Section 2.3).

A text is split into tokens: words, numbers and symbols. Letters and digits are separate tokens, so ``5days`` equals ``5
days``. A decimal number is one token. Symbols (``+``, ``<``, arrows, emoji) are tokens because they have meaning in
notes. The degree sign and the minus sign, which is used as a dash, are not. In scripts without spaces, each character
is a token.

Comparisons are tried from strict to loose, and the first that finds the phrase counts: verbatim, by tokens, by words
(if the phrase lacks symbols of the note), by letters (if words were joined or split). ``...`` in a phrase matches any
words; the match extends from the first to the last word of the phrase.

No match is preferred to a wrong one: an ambiguous phrase is left to a correction request. A match never begins or ends
inside a word or a number.
"""

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, pairwise
from operator import attrgetter, itemgetter

import regex

from tasks.text.sections import split_sections
from tasks.text.sentences import sentence_spans

_UNSPACED = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
_WORD = rf"[{_UNSPACED}]\p{{M}}*|[\p{{L}}\p{{M}}--[{_UNSPACED}]]+"
_SYMBOL = r"[\p{S}--[°\u2212\p{Sk}]]\p{M}*"
_TOKEN = regex.compile(
    rf"(?P<number>\p{{Nd}}+(?:[.,]\p{{Nd}}+)*)|(?P<other_number>\p{{N}})|(?P<word>{_WORD})|(?P<symbol>{_SYMBOL})",
    regex.VERSION1,
)
_PIECE = regex.compile(rf"\p{{N}}+|{_WORD}", regex.VERSION1)
_VARIATION = "\ufe0e\ufe0f"


@dataclass(frozen=True)
class Token:
    """``text[start:end]`` with its normalised form."""

    start: int
    end: int
    form: str
    is_symbol: bool = False


def tokenize(text: str) -> list[Token]:
    """The tokens of ``text``, in order."""
    return [Token(m.start(), m.end(), _form(m.group()), m.lastgroup == "symbol") for m in _TOKEN.finditer(text)]


def pieces(text: str) -> list[Token]:
    """Runs of letters and runs of digits, in order, without symbols; a decimal number gives two."""
    return [Token(m.start(), m.end(), _form(m.group())) for m in _PIECE.finditer(text)]


def forms(tokens: Sequence[Token]) -> list[str]:
    """The normalised forms of tokens, in order."""
    return [token.form for token in tokens]


def _form(token: str) -> str:
    plain = unicodedata.normalize("NFKC", token).casefold().replace(",", ".")
    return unicodedata.normalize("NFC", plain).translate({ord(c): None for c in _VARIATION})


Place = tuple[int, int]
"""(start, end) of characters, end exclusive."""

_MAX_PLACES = 256
"""Maximum number of occurrences of a phrase that are considered."""
_MAX_STRETCH = 300
"""Maximum length in characters of the text matched by a phrase with ``...``; published spans have up to 213."""
_MIN_LETTERS = 8
_SHORT_WORD = 2
_PREFIXES = frozenset({"a", "an", "in", "not"})
"""Words that change the meaning when joined to the next one: ``a febrile`` and ``afebrile``, ``not able``."""


class NoteIndex:
    """Finds phrases in one note. Each token is coded as one character, so that ``str.find`` searches tokens."""

    def __init__(self, note: str) -> None:
        self.note = note
        self.tokens = tokenize(note)
        self._codes: dict[str, str] = {}
        self._all = "".join(self._codes.setdefault(token.form, chr(len(self._codes) + 1)) for token in self.tokens)

    def places(self, phrase: str) -> list[Place]:
        """All places of ``phrase`` by the strictest comparison that finds any, in order; places may overlap."""
        tokens = tokenize(phrase)
        return self._by_tokens(tokens) or self._by_words(tokens) or self._by_letters(phrase)

    def literal(self, phrase: str) -> list[Place]:
        """Verbatim places of ``phrase``, stripped, that do not begin or end inside a word or number."""
        bare = phrase.strip()
        found = [(at, at + len(bare)) for at in _find_all(self.note, bare)] if bare else []
        return [place for place in found if not self._cuts(place)]

    def stretch(self, parts: Sequence[str]) -> Place | None:
        """The stretch of text that begins with the first of ``parts``, ends with the last, and has the others between.

        Stretches are at most `_MAX_STRETCH` long and within one section. None if there is no such stretch, or if there
        are several. Exception: of several, the only one within a sentence is chosen if all others begin inside a
        sentence and end in another.
        """
        tokens = [found for part in parts if (found := tokenize(part))]
        coded = [self._coded(part) for part in tokens]
        if len(coded) < 2 or not all(code and code in self._all for code in coded):
            return None
        length, headings = sum(map(len, coded)), [section.start for section in split_sections(self.note)[1:]]
        gapped: list[Place] = []
        closed: list[Place] = []
        for first, last in self._spanned(coded):
            place = (self.tokens[first].start, self.tokens[last].end)
            if place[1] - place[0] <= _MAX_STRETCH and not any(place[0] < heading < place[1] for heading in headings):
                (gapped if last - first + 1 > length else closed).append(place)
            if len(gapped) > _MAX_PLACES:
                return None
        places = gapped or closed  # the dots mark an omission, unless the note itself contains them
        if len(places) > 1:
            places = [place for place in places if self._within(place) or self._opens(place)]
            places = places if all(map(self._within, places)) else []
        return places[0] if len(places) == 1 else None

    def _spanned(self, coded: Sequence[str]) -> Iterator[tuple[int, int]]:
        """(first token, last token) of every stretch with the parts in order, up to `_MAX_STRETCH` tokens long."""
        head, *middle, tail = coded
        at = self._all.find(head)
        while at != -1:
            after = at + len(head)
            limit = at + _MAX_STRETCH
            for code in middle:
                after = self._all.find(code, after, limit)
                if after == -1:
                    break
                after += len(code)
            while after != -1:
                after = self._all.find(tail, after, limit)
                if after != -1:
                    yield at, after + len(tail) - 1
                    after += 1
            at = self._all.find(head, at + 1)

    def _by_tokens(self, tokens: Sequence[Token]) -> list[Place]:
        code = self._coded(tokens)
        found = _find_all(self._all, code) if code else []
        return [(self.tokens[at].start, self.tokens[at + len(code) - 1].end) for at in found]

    def _by_words(self, tokens: Sequence[Token]) -> list[Place]:
        """Places by words only, for phrases that lack symbols of the note; a phrase may not have additional symbols."""
        code = self._coded([token for token in tokens if not token.is_symbol])
        if not code:
            return []
        rows = [row for row, token in enumerate(self.tokens) if not token.is_symbol]
        symbols, found = [token.form for token in tokens if token.is_symbol], []
        for at in _find_all("".join(self._all[row] for row in rows), code):
            matched = self.tokens[rows[at] : rows[at + len(code) - 1] + 1]
            if _in_order(symbols, [token.form for token in matched if token.is_symbol]):
                found.append((matched[0].start, matched[-1].end))
        return found

    def _by_letters(self, phrase: str) -> list[Place]:
        """The place by letters and digits only, for phrases with lost or added hyphens or spaces; none if ambiguous."""
        wanted = pieces(phrase)
        letters = "".join(forms(wanted))
        if len(letters) < _MIN_LETTERS:
            return []
        symbols, found = [token.form for token in tokenize(phrase) if token.is_symbol], []
        every = pieces(self.note)
        ends = {end: row for row, end in enumerate(accumulate(len(piece.form) for piece in every))}
        starts = {end - len(every[row].form): row for end, row in ends.items()}
        for at in _find_all("".join(forms(every)), letters):
            first, last = starts.get(at), ends.get(at + len(letters))
            if first is None or last is None:
                continue
            held = every[first : last + 1]
            place = (held[0].start, held[-1].end)
            own = [t.form for t in tokenize(self.note[place[0] : place[1]]) if t.is_symbol]
            if not self._cuts(place) and _in_order(symbols, own) and _same_words(phrase, wanted, self.note, held):
                found.append(place)
        return found if len(found) == 1 else []

    def _coded(self, tokens: Sequence[Token]) -> str:
        """A phrase's tokens in the note's code; empty if one of them does not occur in the note."""
        codes = [self._codes.get(token.form) for token in tokens]
        return "" if None in codes else "".join(code for code in codes if code)

    def _cuts(self, place: Place) -> bool:
        return any(edge in self._inside for edge in place)

    def _within(self, place: Place) -> bool:
        return place[1] <= self._sentence_at(place[0])[1]

    def _opens(self, place: Place) -> bool:
        """Whether a stretch begins where a sentence begins."""
        first = bisect_left(self.tokens, self._sentence_at(place[0])[0], key=attrgetter("start"))
        return self.tokens[first].start == place[0]

    def _sentence_at(self, position: int) -> Place:
        return self._sentences[bisect_right(self._sentences, position, key=itemgetter(0)) - 1]

    @cached_property
    def _sentences(self) -> list[Place]:
        return sentence_spans(self.note)

    @cached_property
    def _inside(self) -> frozenset[int]:
        return frozenset(at for token in self.tokens for at in range(token.start + 1, token.end))


def _find_all(text: str, wanted: str) -> list[int]:
    """Positions of ``wanted`` in ``text``, overlapping ones included, at most `_MAX_PLACES`."""
    found: list[int] = []
    at = text.find(wanted)
    while at != -1 and len(found) < _MAX_PLACES:
        found.append(at)
        at = text.find(wanted, at + 1)
    return found


def _in_order(wanted: Sequence[str], held: Sequence[str]) -> bool:
    """Whether ``wanted`` is a subsequence of ``held``."""
    remaining = iter(held)
    return all(form in remaining for form in wanted)


def _same_words(phrase: str, wanted: Sequence[Token], note: str, held: Sequence[Token]) -> bool:
    """Whether two texts with the same letters differ only in word boundaries that do not change the meaning.

    A phrase may lose or add punctuation between words (``non-productive``). It may lose white space, but not after a
    word of `_PREFIXES` (``a febrile`` is not ``afebrile``), and add it only between parts of more than two letters
    (``no table`` is not ``notable``). Numbers are neither joined nor split.
    """
    ours, theirs = _boundaries(note, held), _boundaries(phrase, wanted)
    for at in ours.keys() ^ theirs.keys():
        gap, left, right = ours.get(at) or theirs[at]
        if left[-1].isdigit() and right[0].isdigit() and (at in theirs or not gap.strip()):
            return False
        if gap and not any(c.isspace() for c in gap):
            continue
        if left[-1].isdigit() != right[0].isdigit():
            continue
        if at in ours:  # the phrase lost white space
            is_prefix = at == len(left) or at - len(left) in theirs  # ``left`` begins the joined word
            if is_prefix and left in _PREFIXES:
                return False
        elif min(len(left), len(right)) <= _SHORT_WORD:
            return False
    return True


def _boundaries(text: str, tokens: Sequence[Token]) -> dict[int, tuple[str, str, str]]:
    """Number of letters before each word boundary -> (text of the boundary, word before, word after)."""
    found, total = {}, 0
    for left, right in pairwise(tokens):
        total += len(left.form)
        found[total] = (text[left.end : right.start], left.form, right.form)
    return found


ELISION = re.compile(r"(?:(?<!\s)\s++)?(?:[\[(]\s*+)?(?:\.{3,}|…+|\.(?:\s++\.){2,})\s*+(?:[\])]\s*+)?")
"""Marks of omitted words. Without backtracking, since replies may contain any number of blanks."""
_QUOTES = {"“": '"', "”": '"', "„": '"', "«": '"', "»": '"', "‘": "'", "’": "'", "`": "'", "´": "'"}
_ENDS = {".": ".", "!": ".", "?": ".", ",": ",", ";": ",", ":": ","}
_BRACKETS = {"(": ")", "[": "]", "{": "}"}
_REACH = 40  # maximum number of characters added at either end
_AFTER_NUMBERS = "°%+"
_NEVER_FIRST = ",.;:!? \t\n"


@dataclass(frozen=True)
class Match:
    """``note[start:end]`` matches a phrase; ``kind`` is exact, normalised or elided."""

    start: int
    end: int
    kind: str


def match_phrases(note: str, phrases: Sequence[tuple[str, str]], *, sure: bool = False) -> list[Match | None]:
    """Find each (symptom, phrase) in ``note``; None if not found or ambiguous. Same order as ``phrases``.

    If a symptom has the same phrase several times, the first matches the first occurrence, and so on; surplus phrases
    match the last occurrence. A phrase that occurs more often than listed, in several spellings (``Afebrile``,
    ``afebrile``), is ambiguous unless ``sure``: then the model was asked to spell it as the note does, and the
    occurrences in that spelling count.
    """
    index = NoteIndex(note)
    groups: dict[tuple[str, tuple[tuple[str, ...], ...]], list[int]] = defaultdict(list)
    for row, (symptom, phrase) in enumerate(phrases):
        groups[symptom, tuple(tuple(forms(tokenize(part))) for part in _parts(phrase))].append(row)
    matches: list[Match | None] = [None] * len(phrases)
    for rows in groups.values():
        found = _resolve(index, [phrases[row][1] for row in rows], sure)
        for row, match in zip(rows, found, strict=True):
            matches[row] = match
    return matches


def _resolve(index: NoteIndex, listed: Sequence[str], sure: bool) -> list[Match | None]:
    """Match phrases that differ only in case, punctuation and white space, in order."""
    if len(_parts(listed[0])) > 1 and not index.literal(listed[0]):
        stretches = [index.stretch(_parts(phrase)) for phrase in listed]
        return [
            Match(*_fit_edges(index.note, place, phrase), "elided") if place else None
            for place, phrase in zip(stretches, listed, strict=True)
        ]
    places = index.places(listed[0])
    if len(places) > len(listed) and len({index.note[slice(*place)] for place in places}) > 1:
        if not sure:
            return [None] * len(listed)
        places = index.literal(listed[0])
    apart: list[Place] = []
    for place in places:
        if not apart or place[0] >= apart[-1][1]:
            apart.append(place)
    if not apart:
        return [None] * len(listed)
    taken = [apart[min(i, len(apart) - 1)] for i in range(len(listed))]
    return [_match(index.note, phrase, place) for phrase, place in zip(listed, taken, strict=True)]


def _parts(phrase: str) -> list[str]:
    return [part for part in ELISION.split(phrase) if part]


def _match(note: str, phrase: str, place: Place) -> Match:
    bare = phrase.strip().lstrip(_NEVER_FIRST)
    found = note.find(bare, max(place[0] - len(bare), 0), place[1] + len(bare))
    if found != -1 and found <= place[0] and place[1] <= found + len(bare):
        return Match(found, found + len(bare), "exact")
    return Match(*_fit_edges(note, place, phrase), "normalised")


def _fit_edges(note: str, place: Place, phrase: str) -> Place:
    """Extend ``place`` by punctuation that the phrase has at its ends as well, and by the other half of a bracket."""
    phrase = ELISION.sub(" ", phrase)
    tokens = tokenize(phrase)
    if not tokens:
        return place
    before, after = phrase[: tokens[0].start].lstrip(), phrase[tokens[-1].end :].rstrip()
    start = place[0] - _shared(before[::-1], note[max(0, place[0] - _REACH) : place[0]][::-1])
    end = place[1] + _shared(after, note[place[1] : place[1] + _REACH])
    return _close_brackets(note, start, end)


def _shared(marks: str, adjacent: str) -> int:
    """Number of characters of ``adjacent`` that match ``marks``, read outwards; white space may differ in width."""
    reached = at = 0
    for mark in marks:
        if mark.isspace():
            while at < len(adjacent) and adjacent[at].isspace():
                at += 1
        elif at < len(adjacent) and _class(adjacent[at]) == _class(mark):
            at += 1
            reached = at
        else:
            break
    return reached


def _class(mark: str) -> str:
    if unicodedata.category(mark) == "Pd" or mark == "−":
        return "-"
    return _ENDS.get(mark) or _QUOTES.get(mark, mark)


def _close_brackets(note: str, start: int, end: int) -> Place:
    for opening, closing in _BRACKETS.items():
        depth = lowest = 0
        for mark in note[start:end]:
            depth += (mark == opening) - (mark == closing)
            lowest = min(lowest, depth)
        after = end
        while after < len(note) and note[after] in _AFTER_NUMBERS:
            after += 1
        if depth - lowest == 1 and lowest == 0 and note[after : after + 1] == closing:
            end = after + 1
        elif lowest == -1 and depth == -1 and start > 0 and note[start - 1] == opening:
            start -= 1
    return start, end
