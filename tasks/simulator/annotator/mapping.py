"""Map phrases of a note to its compact version, and correct imprecise quotations to the words of the note."""

import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher

from tasks.domains.in_use import domain_cache
from tasks.simulator.annotator.spans import Span, find_spans
from tasks.simulator.clinical import findings
from tasks.simulator.clinical.findings import Finding
from tasks.simulator.clinical.similarity import bag, similarity, weight, words
from tasks.simulator.request import ChatRequest
from tasks.text.sections import section_at
from tasks.text.sentences import sentence_spans

_LEAST_LIKE = 0.12
_LEAST_ALIKE_WITHOUT_SYMPTOM = 0.5
_LEAST_ALIKE = 0.72
_LONGEST_STRETCH = 400
_WORD = re.compile(r"[A-Za-z0-9]+(?:[.,]\d+)?")
_ELISION = re.compile(r"\s*(?:\.{3,}|…)\s*")


def map_to_compact(request: ChatRequest) -> str:
    """Reply to ``map phrases to the compact note``."""
    wanted = _strings(request.tag("phrases"))
    found = map_phrases(request.tag("note"), request.tag("compact"), wanted)
    return _pairs(zip(wanted, found, strict=True))


def check_same_meaning(request: ChatRequest) -> str:
    """Reply to ``check that mapped phrases mean the same``: the last reply's pairs, with differing matches emptied."""
    return _pairs((phrase, match if same_meaning(phrase, match) else "") for phrase, match in _last_pairs(request))


def _pairs(pairs: Iterable[tuple[str, str]]) -> str:
    listed = [{"phrase": phrase, "match": match} for phrase, match in pairs]
    return json.dumps({"pairs": listed}, ensure_ascii=False)


def correct_phrases(request: ChatRequest) -> str:
    """Reply to ``correct phrases to the words of the note``."""
    note, wanted = request.tag("note"), _strings(request.tag("phrases"))
    listed = [{"phrase": phrase, "correction": correct(note, phrase)} for phrase in wanted]
    return json.dumps({"corrections": listed}, ensure_ascii=False)


def _strings(text: str) -> list[str]:
    """Parse a JSON list and keep its strings; empty when ``text`` is not a JSON list."""
    try:
        loaded = json.loads(text)
    except json.JSONDecodeError:
        return []
    return [item for item in loaded if isinstance(item, str)] if isinstance(loaded, list) else []


def _last_pairs(request: ChatRequest) -> list[tuple[str, str]]:
    """Return the pairs in the most recent assistant message that contains any."""
    for role, text in reversed(request.messages):
        if role != "assistant":
            continue
        try:
            return [(str(pair["phrase"]), str(pair["match"])) for pair in json.loads(text)["pairs"]]
        except (json.JSONDecodeError, KeyError, TypeError):
            continue
    return []


def map_phrases(note: str, compact: str, wanted: Sequence[str]) -> list[str]:
    """Return for each phrase of ``note`` the equivalent phrase of ``compact``; empty when there is none."""
    places = _places(note, wanted)
    pairs: list[tuple[float, int, Span]] = []
    for row, (phrase, place) in enumerate(zip(wanted, places, strict=True)):
        said = _said(note, place, phrase)
        for candidate in find_spans(compact):
            if (candidate.symptom, candidate.polarity) not in said:
                continue
            like = similarity(phrase, compact[candidate.start : candidate.end])
            if like >= _LEAST_LIKE:
                pairs.append((like + _nearness(note, place, compact, candidate.start), row, candidate))
    chosen = _choose(compact, pairs)
    return [chosen.get(row) or _window(phrase, compact, note, places[row]) for row, phrase in enumerate(wanted)]


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
        found = _symptoms(phrase)
    else:
        found = [f for f in _symptoms(note) if place <= f.start and f.end <= place + len(phrase)]
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
                run = [forms for _, _, forms in rows[first : last + 1]]
                shared = {form for forms in run for form in forms} & wanted
                extra = sum(1 for forms in run if not wanted & set(forms) and weight(forms[0]) == 1.0)
                score = 2 * len(shared) / (2 * len(shared) + extra + (len(wanted) - len(shared)))
                stretch = start + rows[first][0], start + rows[last][1]
                if score > best and _agrees(polarity, compact, *stretch):
                    best, found = score, compact[slice(*stretch)]
    return found


def _agrees(polarity: set[str], compact: str, start: int, end: int) -> bool:
    """Whether the symptoms in a stretch have one of the given polarities."""
    here = {f.polarity for f in _symptoms(compact) if start <= f.start < end}
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
    stated, kept = ({(f.concept, f.polarity) for f in found} for found in (ours, theirs))
    return shared == {concept for concept, _ in stated & kept} and _same_temperature(ours, theirs)


def _symptoms(text: str) -> list[Finding]:
    return [f for f in findings.find(text) if f.category == "symptom"]


def _same_reading(phrase: str, match: str) -> bool:
    """Whether two phrases share a content word: "exacerbated by exertion" and "worsens w/ exertion"."""
    shared = bag(phrase) & bag(match)
    return sum(weight(form) for form in shared) >= 1.0 and not re.search(r"\bno\b", match)


def _same_temperature(ours: Sequence[Finding], theirs: Sequence[Finding]) -> bool:
    """Whether the temperatures agree within 0.2 °C, if both phrases have one."""
    a = [f.celsius for f in ours if f.celsius is not None]
    b = [f.celsius for f in theirs if f.celsius is not None]
    return not a or not b or min(abs(x - y) for x in a for y in b) <= 0.2


def correct(note: str, phrase: str) -> str:
    """Return the stretch of ``note`` that ``phrase`` quotes; empty when no stretch is similar enough.

    A phrase with ``...`` matches the stretch from its first to its last part. Otherwise the best run of words is
    returned, if its Ratcliff-Obershelp ratio is at least 0.72.
    """
    parts = [part for part in _ELISION.split(phrase) if _WORD.search(part)]
    if not parts:
        return ""
    places = [_best(note, part) for part in parts]
    if len(parts) == 1:
        return note[places[0][0] : places[0][1]] if places[0] else ""
    first = places[0]
    last = _best(note, parts[-1], after=first[1]) if first else None
    if first is None or last is None or last[1] - first[0] > _LONGEST_STRETCH:
        return ""
    return note[first[0] : last[1]]


@domain_cache(maxsize=256)
def _words(note: str) -> tuple[tuple[str, int, int], ...]:
    return tuple((m.group().lower(), m.start(), m.end()) for m in _WORD.finditer(note))


def _best(note: str, phrase: str, after: int = 0) -> tuple[int, int] | None:
    wanted = [m.group().lower() for m in _WORD.finditer(phrase)]
    rows = _words(note)
    slack = 1 + len(wanted) // 4
    found: tuple[float, int, int] = (_LEAST_ALIKE, 0, 0)
    bag = Counter(w[:4] for w in wanted)
    for first in range(len(rows)):
        if rows[first][1] < after:
            continue
        for size in range(max(1, len(wanted) - slack), len(wanted) + slack + 1):
            run = rows[first : first + size]
            if len(run) < size:
                break
            shared = sum((Counter(w[0][:4] for w in run) & bag).values())
            if 2 * shared < 0.5 * (size + len(wanted)):
                continue
            ratio = SequenceMatcher(None, " ".join(wanted), " ".join(w[0] for w in run), autojunk=False).ratio()
            if ratio > found[0]:
                found = (ratio, run[0][1], run[-1][2])
    return (found[1], _closed(note, found[1], found[2])) if found[2] else None


def _closed(note: str, start: int, end: int) -> int:
    """Extend the end over a closing bracket or a unit sign."""
    while note[end : end + 1] and note[end] in "%°+" and end - start < _LONGEST_STRETCH:
        end += 1
    if note[start:end].count("(") > note[start:end].count(")") and note[end : end + 1] == ")":
        end += 1
    return end
