"""Searching a note for phrases: an index that answers each search in time linear in the note."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import pairwise
from operator import attrgetter, itemgetter

from tasks.spans.tokens import Token, forms, pieces, tokenize
from tasks.text.sections import split_sections
from tasks.text.sentences import sentence_spans

Place = tuple[int, int]
"""(start, end) of characters, end exclusive."""

MAX_PLACES = 256
"""Occurrences looked at; a phrase that occurs more often is never resolved one by one."""
MAX_STRETCH = 300
"""Longest stretch in characters for which ``...`` may stand with its phrase; published spans reach 213."""
_LEAST_LETTERS = 8
_SHORT_WORD = 2
_TURNS_MEANING = frozenset({"a", "an", "in", "not"})
"""Words that mean something else when joined to the next one: ``a febrile`` and ``afebrile``, ``not able``."""


class NoteIndex:
    """One note, ready to be searched. Tokens are coded as single characters, so that ``str.find`` does the work."""

    def __init__(self, note: str) -> None:
        self.note = note
        self.tokens = tokenize(note)
        self._codes: dict[str, str] = {}
        self._all = "".join(self._code(token.form) for token in self.tokens)

    def key(self, phrase: str) -> tuple[str, ...]:
        """What two phrases share when they are the same but for case, punctuation and white space."""
        return tuple(forms(tokenize(phrase)))

    def places(self, phrase: str) -> list[Place]:
        """Where ``phrase`` stands, by the strictest reading that finds it; in order, and overlapping where it may."""
        tokens = tokenize(phrase)
        return self._by_tokens(tokens) or self._by_words(tokens) or self._by_letters(phrase)

    def literal(self, phrase: str) -> list[Place]:
        """Where ``phrase`` stands character by character, not cutting a word or number; without its outer spaces."""
        bare = phrase.strip()
        found = [(at, at + len(bare)) for at in _find_all(self.note, bare)] if bare else []
        return [place for place in found if not self._cuts(place)]

    def stretch(self, parts: Sequence[str]) -> Place | None:
        """The one stretch that begins with the first of ``parts``, ends with the last and has the others between.

        None when there is none, or when several stretches within `MAX_STRETCH` and one section would do. Of several,
        the only one within a sentence is meant if all others begin inside a sentence and end in another.
        """
        tokens = [found for part in parts if (found := tokenize(part))]
        coded = [self._coded(part) for part in tokens]
        if len(coded) < 2 or not all(code and code in self._all for code in coded):
            return None
        said = sum(map(len, coded))
        gapped: list[Place] = []
        closed: list[Place] = []
        for first, last in self._spanned(coded):
            place = (self.tokens[first].start, self.tokens[last].end)
            if place[1] - place[0] <= MAX_STRETCH and not self._crosses_heading(place):
                (gapped if last - first + 1 > said else closed).append(place)
            if len(gapped) > MAX_PLACES:
                return None
        places = gapped or closed  # nobody marks what is not left out, unless the note itself has the dots
        if len(places) > 1:
            places = [place for place in places if self._within(place) or self._opens(place)]
            places = places if all(map(self._within, places)) else []
        return places[0] if len(places) == 1 else None

    def _spanned(self, coded: Sequence[str]) -> Iterator[tuple[int, int]]:
        """(first token, last token) of every stretch that holds the parts in order, up to `MAX_STRETCH` tokens long."""
        head, *middle, tail = coded
        at = self._all.find(head)
        while at != -1:
            after = at + len(head)
            limit = at + MAX_STRETCH
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
        """By words alone, where the phrase lacks symbols of the note; it must have none that the note lacks."""
        code = self._coded([token for token in tokens if not token.is_symbol])
        rows = self._word_rows
        found = _find_all(self._words, code) if code else []
        spanned = [(rows[at], rows[at + len(code) - 1]) for at in found]
        symbols = [token.form for token in tokens if token.is_symbol]
        return [
            (self.tokens[first].start, self.tokens[last].end)
            for first, last in spanned
            if _in_order(symbols, [t.form for t in self.tokens[first : last + 1] if t.is_symbol])
        ]

    def _by_letters(self, phrase: str) -> list[Place]:
        """By letters and digits alone, where hyphens or spaces were lost or added; only if there is one such place."""
        wanted = pieces(phrase)
        letters = "".join(forms(wanted))
        if len(letters) < _LEAST_LETTERS:
            return []
        symbols = [token.form for token in tokenize(phrase) if token.is_symbol]
        found = []
        for at in _find_all(self._letters, letters):
            first, last = self._piece_starts.get(at), self._piece_ends.get(at + len(letters))
            if first is None or last is None:
                continue
            held = self._pieces[first : last + 1]
            place = (held[0].start, held[-1].end)
            own = [t.form for t in tokenize(self.note[place[0] : place[1]]) if t.is_symbol]
            if not self._cuts(place) and _in_order(symbols, own) and _same_words(phrase, wanted, self.note, held):
                found.append(place)
        return found if len(found) == 1 else []

    def _coded(self, tokens: Sequence[Token]) -> str:
        """The phrase's tokens in the note's code; empty when one of them does not stand in the note."""
        codes = [self._codes.get(token.form) for token in tokens]
        return "" if None in codes else "".join(code for code in codes if code)

    def _code(self, form: str) -> str:
        return self._codes.setdefault(form, chr(len(self._codes) + 1))

    def _cuts(self, place: Place) -> bool:
        return any(edge in self._inside for edge in place)

    def _crosses_heading(self, place: Place) -> bool:
        return any(place[0] < heading < place[1] for heading in self._headings)

    def _within(self, place: Place) -> bool:
        return place[1] <= self._sentence_at(place[0])[1]

    def _opens(self, place: Place) -> bool:
        """Whether a stretch begins with a sentence."""
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

    @cached_property
    def _headings(self) -> list[int]:
        return [section.start for section in split_sections(self.note)[1:]]

    @cached_property
    def _word_rows(self) -> list[int]:
        return [row for row, token in enumerate(self.tokens) if not token.is_symbol]

    @cached_property
    def _words(self) -> str:
        return "".join(self._all[row] for row in self._word_rows)

    @cached_property
    def _pieces(self) -> list[Token]:
        return pieces(self.note)

    @cached_property
    def _letters(self) -> str:
        return "".join(forms(self._pieces))

    @cached_property
    def _piece_ends(self) -> dict[int, int]:
        ends, total = {}, 0
        for row, piece in enumerate(self._pieces):
            total += len(piece.form)
            ends[total] = row
        return ends

    @cached_property
    def _piece_starts(self) -> dict[int, int]:
        return {end - len(self._pieces[row].form): row for end, row in self._piece_ends.items()}


def _find_all(text: str, wanted: str) -> list[int]:
    """Where ``wanted`` stands in ``text``, overlapping too, up to `MAX_PLACES` times."""
    found: list[int] = []
    at = text.find(wanted)
    while at != -1 and len(found) < MAX_PLACES:
        found.append(at)
        at = text.find(wanted, at + 1)
    return found


def _in_order(wanted: Sequence[str], held: Sequence[str]) -> bool:
    """Whether ``wanted`` is a subsequence of ``held``."""
    remaining = iter(held)
    return all(form in remaining for form in wanted)


def _same_words(phrase: str, wanted: Sequence[Token], note: str, held: Sequence[Token]) -> bool:
    """Whether two texts with the same letters differ only in boundaries between words that mean nothing.

    A boundary of punctuation may be lost or added (``non-productive``). White space may be lost, but not after a word
    that could become the beginning of another (``a febrile`` is not ``afebrile``); it may be added only between parts
    of more than two letters (``no table`` is not ``notable``). Digits are never joined over white space, nor split.
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
        begins = at == len(left) or at - len(left) in theirs  # what is joined begins with ``left``
        if (left in _TURNS_MEANING and begins) if at in ours else min(len(left), len(right)) <= _SHORT_WORD:
            return False
    return True


def _boundaries(text: str, tokens: Sequence[Token]) -> dict[int, tuple[str, str, str]]:
    """Letters before each boundary -> (what stands between, the word before, the word after)."""
    found, total = {}, 0
    for left, right in pairwise(tokens):
        total += len(left.form)
        found[total] = (text[left.end : right.start], left.form, right.form)
    return found
