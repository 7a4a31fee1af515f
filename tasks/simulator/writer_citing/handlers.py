"""Handlers of the tasks that write texts with citations."""

import re

from tasks.simulator.request import ChatRequest
from tasks.simulator.writer_citing.shorten import chance, cite, shorten

_LINE = re.compile(r"^\[(\d+)\]\s*(.*)$")
_TURN = re.compile(r"^\[?(?P<speaker>doctor|patient|patient_guest)\]?\s*(?P<said>.*)$", re.IGNORECASE)
_HEADING = re.compile(r"^\W*(history|physical exam\w*)\W*$", re.IGNORECASE)
_EXAM = re.compile(
    r"exam|lungs?\b.*\b(?:clear|sound)|heart sounds|murmur|tender|edema|swelling of|range of motion", re.I
)
_RESULTS = re.compile(r"x-?ray|labs?\b|hemoglobin|mri\b|ct\b|ekg|results?|panel", re.IGNORECASE)
_PLAN = re.compile(
    r"i(?:'m| am) (?:going to|gon na)|i(?:'ll| will) |i want|i'd like|let's|we(?:'ll| will)|order|prescribe|refer"
    r"|follow|continue",
    re.I,
)
_SECTIONS = ("SUBJECTIVE", "PHYSICAL EXAM", "RESULTS", "ASSESSMENT AND PLAN")
_DROPPED = 0.08  # share of input sentences that a compact note omits


def _lines(block: str) -> list[tuple[int, str]]:
    matches = (_LINE.match(line.strip()) for line in block.split("\n"))
    return [(int(match[1]), match[2]) for match in matches if match]


def cited_compact(request: ChatRequest) -> str:
    """Reply with each sentence of the note in shorthand with its number; headings are kept, a few sentences omitted."""
    return _shortened(request.tag("note"), request.seed)


def cited_impression(request: ChatRequest) -> str:
    """Reply with most sentences of the findings in shorthand, each with its number."""
    return _shortened(request.tag("findings"), request.seed)


def _shortened(block: str, seed: int) -> str:
    lines = _lines(block)
    written = []
    for number, sentence in lines:
        if _HEADING.match(sentence):
            written.append(f"\n{sentence}")
        elif chance("drop", number, sentence, seed) >= _DROPPED:
            written.append(_with_citation(shorten(sentence), cite(number, len(lines), sentence, seed)))
    return "\n".join(written).strip()


def _with_citation(sentence: str, citation: str) -> str:
    return f"{sentence.rstrip(' .!?')}{citation}."


def cited_note(request: ChatRequest) -> str:
    """Reply with sentences of the dialogue sorted into sections, each with its line number."""
    lines = _lines(request.tag("dialogue"))
    wanted = request.tag("section", "full").strip()
    sections: dict[str, list[str]] = {name: [] for name in _SECTIONS}
    for number, line in lines:
        for section, sentence in _sorted_turn(line):
            sections[section].append(_with_citation(sentence, cite(number, len(lines), sentence, request.seed)))
    names = _SECTIONS if wanted == "full" else tuple(name for name in _SECTIONS if name == wanted.upper())
    return "\n\n".join(f"{name}\n\n" + "\n".join(sections[name]) for name in names if sections[name])


def _sorted_turn(line: str) -> list[tuple[str, str]]:
    match = _TURN.match(line)
    if match is None:
        return []
    parts = [
        part.strip() for part in re.split(r"(?<=[.?!])\s+", match["said"]) if len(part.split()) >= 6 and "?" not in part
    ]
    if match["speaker"].lower() != "doctor":
        return [("SUBJECTIVE", _third_person(part)) for part in parts]
    found = []
    for part in parts:
        for section, pattern in (("RESULTS", _RESULTS), ("PHYSICAL EXAM", _EXAM), ("ASSESSMENT AND PLAN", _PLAN)):
            if pattern.search(part):
                found.append((section, _third_person(part)))
                break
    return found


def _third_person(sentence: str) -> str:
    sentence = re.sub(r"\b(?:um|uh|you know|okay|yeah|well|so)\b\s*,?\s*", "", sentence, flags=re.IGNORECASE)
    for pattern, other in (
        (r"\bi'm\b|\bi am\b", "the patient is"),
        (r"\bi've\b|\bi have\b", "the patient has"),
        (r"\bi\b", "the patient"),
        (r"\b(?:my|your)\b", "the patient's"),
        (r"\byou\b", "the patient"),
    ):
        sentence = re.sub(pattern, other, sentence, flags=re.IGNORECASE)
    sentence = " ".join(re.sub(r"\s+([,.])", r"\1", sentence).split()).strip(" ,")
    return sentence[:1].upper() + sentence[1:]


def cited_question(request: ChatRequest) -> str:
    """Reply with the last question of the input, or else its longest sentence, with its number."""
    lines = _lines(request.tag("question"))
    if not lines:
        return ""
    asking = [line for line in lines if "?" in line[1]]
    number, sentence = asking[-1] if asking else max(lines, key=lambda line: len(line[1]))
    return f"{sentence.rstrip(' .!?')} [{number}]?"


def subjective_summary(request: ChatRequest) -> str:
    """Reply with the patient's statements in the third person, without citations or short remarks."""
    kept = []
    for line in request.tag("dialogue").split("\n"):
        line = re.sub(r"^\[\d+\]\s*", "", line.strip())
        for section, sentence in _sorted_turn(line):
            if section == "SUBJECTIVE" and chance("drop", sentence, request.seed) >= _DROPPED:
                kept.append(f"{sentence.rstrip(' .')}.")
        if re.search(r"years?[- ]old", line):
            match = _TURN.match(line)
            kept.insert(0, _third_person(match["said"] if match else line))
    return "SUBJECTIVE\n\n" + " ".join(kept) if kept else ""
