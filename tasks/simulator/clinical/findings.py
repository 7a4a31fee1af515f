"""Find the clinical content of a note: mentions of symptoms, conditions, diagnoses, signs and drugs, with polarity."""

from collections.abc import Sequence
from dataclasses import dataclass

from tasks.domains.in_use import domain_cache
from tasks.simulator.clinical import negation
from tasks.simulator.clinical.lexicon import Entry, matcher, reading, symptoms
from tasks.simulator.clinical.negation import Polarity, Scope
from tasks.simulator.clinical.patient import find_temperatures, temperature_level
from tasks.simulator.clinical.words import Token, tokenize, word_list
from tasks.text.sections import section_at
from tasks.text.sentences import sentence_spans


@dataclass(frozen=True)
class _SelfEvident:
    """Words by which a finding is absent, normal or abnormal without a negation."""

    absent: frozenset[str]
    normal_endings: frozenset[str]
    abnormal: tuple[str, ...]  # beginnings of words


@domain_cache(maxsize=1)
def _self_evident() -> _SelfEvident:
    domain = reading()
    return _SelfEvident(
        word_list("absent_by_word") | set(domain.absent_words),
        word_list("absent_by_end") | set(domain.normal_endings),
        (*sorted(word_list("pathology")), *domain.abnormal_signs),
    )


@dataclass(frozen=True)
class Finding:
    """One mention. ``text[start:end]`` names the concept; ``cue`` is the position of the negation or uncertainty cue.

    ``category``: symptom (of the domain), other_symptom, sign, condition, diagnosis or drug. ``kind``: direct, lay,
    implicit, calm (normal finding), feature, exam, anaphor, weak or measured (a temperature). ``polarity``:
    present, absent or uncertain. ``celsius`` is set for temperatures. ``other``: the mention is about another
    person than the patient.
    """

    concept: str
    category: str
    kind: str
    start: int
    end: int
    text: str
    polarity: Polarity
    section: str
    sentence: tuple[int, int]
    cue: tuple[int, int] | None = None
    celsius: float | None = None
    other: bool = False


@domain_cache(maxsize=512)
def find(text: str) -> tuple[Finding, ...]:
    """Return all findings of ``text`` by position; of overlapping mentions of one concept the longest is kept."""
    found = [finding for sentence in sentence_spans(text) for finding in _in_sentence(text, sentence)]
    measured = _temperatures(text)
    worded = [f for f in found if f.concept != reading().temperature or not any(_overlap(f, m) for m in measured)]
    kept: list[Finding] = []
    for finding in sorted(worded + measured, key=lambda f: (f.start, f.end, f.concept)):
        if _counts(finding, kept):
            kept.append(finding)
    return tuple(kept)


def _overlap(one: Finding, other: Finding) -> bool:
    return other.start < one.end and one.start < other.end


def _counts(finding: Finding, before: Sequence[Finding]) -> bool:
    """Whether a finding counts, given the findings before it.

    An anaphor ("the discharge", "the pain") counts if it refers to a present mention of a symptom of the domain. A
    feature, a part of the symptom, counts if it is present.
    """
    if finding.kind == "feature":
        return finding.polarity == "present"
    if finding.kind != "anaphor":
        return True
    for earlier in reversed(before):
        if earlier.end > finding.start or earlier.kind == "weak":
            continue
        if earlier.concept == finding.concept:
            return earlier.polarity == "present"
        if _may_mean(finding, earlier):
            return False
    return False


def _may_mean(anaphor: Finding, earlier: Finding) -> bool:
    """Whether an anaphor of a symptom ("the pain") may refer to another complaint."""
    words = reading().anaphors.get(anaphor.concept, ())
    return earlier.category == "other_symptom" and any(word in earlier.text.lower() for word in words)


def of(text: str, *concepts: str) -> list[Finding]:
    """Return the findings of ``text`` with one of the given concepts."""
    return [finding for finding in find(text) if finding.concept in concepts]


def _in_sentence(text: str, sentence: tuple[int, int]) -> list[Finding]:
    tokens = tokenize(text, *sentence)
    kept = _longest(matcher().matches(tokens))
    scopes = negation.scopes(tokens) if kept else []
    return [_finding(text, tokens, scopes, match, sentence) for match in kept]


def _longest(matches: Sequence[tuple[int, int, Entry]]) -> list[tuple[int, int, Entry]]:
    """Remove matches covered by a blocker or by a longer match of the same concept."""
    blockers = [(a, b) for a, b, entry in matches if entry.category == "none"]
    free = [m for m in matches if m[2].category != "none" and not any(_blocks(b, m) for b in blockers)]
    kept: list[tuple[int, int, Entry]] = []
    for match in sorted(free, key=lambda m: (-(m[1] - m[0]), m[0], m[2].kind)):
        if not any(k[2].concept == match[2].concept and k[0] < match[1] and match[0] < k[1] for k in kept):
            kept.append(match)
    return kept


def _blocks(blocker: tuple[int, int], match: tuple[int, int, Entry]) -> bool:
    """Whether a blocker hides a match: a shorter symptom or condition inside it."""
    if not (blocker[0] <= match[0] and match[1] <= blocker[1]):
        return False
    return match[2].category in ("symptom", "condition") and blocker[1] - blocker[0] > match[1] - match[0]


def _finding(
    text: str,
    tokens: Sequence[Token],
    scopes: Sequence[Scope],
    match: tuple[int, int, Entry],
    sentence: tuple[int, int],
) -> Finding:
    first, last, entry = match
    start, end = tokens[first].start, tokens[last - 1].end
    if entry.category == "symptom":
        scopes = [scope for scope in scopes if scope.polarity == "absent" or scope.other or scope.supposed]
    polarity, scope = negation.polarity(scopes, first, last)
    if entry.category == "symptom" and _absent_by_itself(tokens[first:last], entry):
        # "not breathing comfortably" is abnormal; a more distant denial belongs to something else
        near = scope is not None and scope.cue[1] == first and tokens[first].low != "afebrile"
        polarity = "present" if polarity == "absent" and near else "absent"
    cue = (tokens[scope.cue[0]].start, tokens[scope.cue[1] - 1].end) if scope else None
    named = (entry.concept, entry.category, entry.kind, start, end, text[start:end])
    return Finding(*named, polarity, section_at(text, start), sentence, cue, other=bool(scope and scope.other))


def _absent_by_itself(match: Sequence[Token], entry: Entry) -> bool:
    """Whether the wording itself says that the symptom is absent: "afebrile", "breathing comfortably"."""
    known = _self_evident()
    if entry.kind == "calm" or any(word.low in known.absent for word in match):
        return True
    if entry.kind != "exam":
        return False
    if match[0].full in ("normal", "good", "easy") or any(word.low == "free" for word in match):
        return True
    abnormal = any(word.low.startswith(known.abnormal) for word in match)
    ends_normal = match[-1].full in known.normal_endings and entry.concept in reading().normal_by_last_word
    return ends_normal and not abnormal


def _temperatures(text: str) -> list[Finding]:
    """Temperatures as findings of the symptom that they state: present from 37.5 °C, otherwise absent."""
    symptom, found = reading().temperature, []
    for measured in find_temperatures(text) if symptom else ():
        start, end = measured.start, measured.end
        sentence = next((s for s in sentence_spans(text) if s[0] <= start < s[1]), (start, end))
        polarity: Polarity = "absent" if temperature_level(measured.celsius) == "none" else "present"
        named = (symptom or "", "symptom", "measured", start, end, text[start:end])
        found.append(Finding(*named, polarity, section_at(text, start), sentence, celsius=measured.celsius))
    return found


def in_note(text: str, symptom: str, *, section: str | None = None) -> list[Finding]:
    """Return the patient's findings of a symptom of the domain."""
    if symptom not in symptoms():
        raise ValueError(f"{symptom!r} is not a symptom; expected one of {', '.join(symptoms())}")
    return [f for f in of(text, symptom) if not f.other and (section is None or f.section == section)]
