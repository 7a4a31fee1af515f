"""Map phrases of a note to the phrases of its compact version that state the same about the same symptom."""

import re
from collections.abc import Sequence

from tasks.domains.in_use import domain_cache
from tasks.simulator.annotator.spans import Span, find_spans
from tasks.simulator.clinical import findings
from tasks.simulator.clinical.findings import Finding
from tasks.simulator.clinical.similarity import bag, similarity, weight, words
from tasks.text.sections import section_at
from tasks.text.sentences import sentence_spans

_LEAST_LIKE = 0.12
_LEAST_ALIKE_WITHOUT_SYMPTOM = 0.5


def map_phrases(note: str, compact: str, wanted: Sequence[str]) -> list[str]:
    """Return for each phrase of ``note`` the equivalent phrase of ``compact``; empty when there is none."""
    places = _places(note, wanted)
    pairs: list[tuple[float, int, Span]] = []
    for row, (phrase, place) in enumerate(zip(wanted, places, strict=True)):
        for candidate in _candidates(note, compact, phrase, place):
            like = similarity(phrase, compact[candidate.start : candidate.end])
            if like >= _LEAST_LIKE:
                pairs.append((like + _nearness(note, place, compact, candidate.start), row, candidate))
    chosen = _choose(compact, pairs)
    return [chosen.get(row) or _window(phrase, compact, note, places[row]) for row, phrase in enumerate(wanted)]


def _candidates(note: str, compact: str, phrase: str, place: int | None) -> list[Span]:
    """Spans of the compact version with a symptom and polarity that the phrase also has."""
    said = set(_said(note, place, phrase))
    return [candidate for candidate in find_spans(compact) if (candidate.symptom, candidate.polarity) in said]


def _choose(compact: str, pairs: Sequence[tuple[float, int, Span]]) -> dict[int, str]:
    """Assign rows to matches greedily by score, each candidate at most once."""
    chosen: dict[int, str] = {}
    taken: set[tuple[str, int, int]] = set()
    for _, row, candidate in sorted(pairs, key=lambda pair: (-pair[0], pair[1], pair[2].start)):
        key = (candidate.symptom, candidate.start, candidate.end)
        if row not in chosen and key not in taken:
            chosen[row] = compact[candidate.start : candidate.end]
            taken.add(key)
    return chosen


@domain_cache(maxsize=512)
def _reading(note: str) -> dict[tuple[int, int], tuple[tuple[str, str], ...]]:
    found: dict[tuple[int, int], list[tuple[str, str]]] = {}
    for phrase in find_spans(note):
        found.setdefault((phrase.start, phrase.end), []).append((phrase.symptom, phrase.polarity))
    return {place: tuple(said) for place, said in found.items()}


def _said(note: str, place: int | None, phrase: str) -> tuple[tuple[str, str], ...]:
    """Return the (symptom, polarity) pairs of a phrase.

    A phrase that equals a span of the annotator has the span's pairs. Any other phrase has those of its last
    mention if it denies a list, and those of all its mentions otherwise.
    """
    if place is not None and (place, place + len(phrase)) in _reading(note):
        return _reading(note)[place, place + len(phrase)]
    if place is None:
        found = [f for f in findings.find(phrase) if f.category == "symptom"]
    else:
        found = [
            f
            for f in findings.find(note)
            if f.category == "symptom" and place <= f.start and f.end <= place + len(phrase)
        ]
    if found and found[-1].polarity == "absent":
        found = found[-1:]
    return tuple(dict.fromkeys((f.concept, f.polarity) for f in found))


def _places(note: str, wanted: Sequence[str]) -> list[int | None]:
    """Locate each phrase in the note; equal phrases are located in order, None when the phrase does not occur."""
    after: dict[str, int] = {}
    places: list[int | None] = []
    for phrase in wanted:
        at = note.find(phrase, after.get(phrase, 0)) if phrase else -1
        at = note.find(phrase) if at == -1 and phrase else at
        after[phrase] = at + 1
        places.append(at if at != -1 else None)
    return places


def _nearness(note: str, place: int | None, compact: str, start: int) -> float:
    """Score up to 0.7 for the same section and a similar relative position in the note."""
    if place is None:
        return 0.0
    same_section = section_at(note, place) == section_at(compact, start)
    return 0.3 * same_section + 0.4 * (1 - abs(place / max(len(note), 1) - start / max(len(compact), 1)))


def _window(phrase: str, compact: str, note: str, place: int | None) -> str:
    """Return the run of words in one sentence of the compact version most similar to the phrase; empty when none is."""
    wanted = {form for form in bag(phrase) if weight(form) == 1.0 and not form.startswith("@")}
    if not wanted:
        return ""
    section = section_at(note, place) if place is not None else None
    best, found = _LEAST_ALIKE_WITHOUT_SYMPTOM, ""
    polarity = {p for _, p in _said(note, place, phrase)}
    for start, end in sentence_spans(compact):
        if section is not None and section_at(compact, start) != section:
            continue
        rows = list(words(compact[start:end]))
        hits = [i for i, (_, _, forms) in enumerate(rows) if wanted & set(forms)]
        for i, first in enumerate(hits):
            for last in hits[i:]:
                shared = {f for row in rows[first : last + 1] for f in row[2]} & wanted
                extra = sum(
                    1 for row in rows[first : last + 1] if not wanted & set(row[2]) and weight(row[2][0]) == 1.0
                )
                score = 2 * len(shared) / (2 * len(shared) + extra + (len(wanted) - len(shared)))
                text = compact[start + rows[first][0] : start + rows[last][1]]
                if score > best and _agrees(polarity, compact, start + rows[first][0], start + rows[last][1]):
                    best, found = score, text
    return found


def _agrees(polarity: set[str], compact: str, start: int, end: int) -> bool:
    """Whether the symptoms in a stretch have one of the given polarities."""
    here = {f.polarity for f in findings.find(compact) if f.category == "symptom" and start <= f.start < end}
    return not here or not polarity or bool(here & polarity)


def same_meaning(phrase: str, match: str) -> bool:
    """Whether a phrase and its match state the same about the same symptom, judged from the two texts alone."""
    if not match:
        return False
    ours, theirs = _symptoms(phrase), _symptoms(match)
    if not ours and not theirs:
        return similarity(phrase, match) >= _LEAST_LIKE
    shared = {f.concept for f in ours} & {f.concept for f in theirs}
    if not shared:
        return similarity(phrase, match) >= _LEAST_ALIKE_WITHOUT_SYMPTOM or _same_reading(phrase, match)
    return all(_same_state(ours, theirs, concept) for concept in shared) and _same_temperature(ours, theirs)


def _symptoms(text: str) -> list[Finding]:
    return [f for f in findings.find(text) if f.category == "symptom"]


def _same_state(ours: Sequence[Finding], theirs: Sequence[Finding], concept: str) -> bool:
    return bool(
        {f.polarity for f in ours if f.concept == concept} & {f.polarity for f in theirs if f.concept == concept}
    )


def _same_reading(phrase: str, match: str) -> bool:
    """Whether two phrases share a content word: "exacerbated by exertion" and "worsens w/ exertion"."""
    shared = bag(phrase) & bag(match)
    return sum(weight(form) for form in shared) >= 1.0 and not re.search(r"\bno\b", match)


def _same_temperature(ours: Sequence[Finding], theirs: Sequence[Finding]) -> bool:
    """Whether the temperatures agree within 0.2 °C, if both phrases have one."""
    a = [f.celsius for f in ours if f.celsius is not None]
    b = [f.celsius for f in theirs if f.celsius is not None]
    return not a or not b or min(abs(x - y) for x in a for y in b) <= 0.2
