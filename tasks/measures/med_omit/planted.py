"""The cases of MED-OMIT: facts of texts that are gone from them or not, and lists of facts."""

import re
from collections.abc import Mapping, Sequence

from schemas.params import Params
from tasks.judges.cases import Asked, Cases, Corrected, Given, Row, case_verdict
from tasks.judges.shortening import BY_WRITER, MIN_WORDS, Shortened, compactions, is_gone, listed_rows, make_shortened
from tasks.llm.ask_all import Unscored
from tasks.llm.calls import Ask
from tasks.measures.med_omit.cases import Case, add_facts, find_omissions
from tasks.measures.med_omit.judging import OMISSIONS, SYSTEM
from tasks.text.sentences import sentences

PART_LEFT_OUT = ("part left out", "nothing left out")
"""Kinds of facts of which a part was left out, and of the others."""
_CLAUSES = re.compile(r"^(?P<first>[A-Z][^;]{20,}); (?P<second>[a-z][^;]{15,})\.$")
_ADDED = re.compile(r"^(?P<first>[^,;]{20,}), (?:particularly|especially|mainly|mostly|notably) (?P<second>[^,;]+)\.$")


def make_omissions(given: Given) -> list[Shortened]:
    """Texts without some sentences; of a card also without a part of one, of simulated notes also compactions."""
    taken_out = make_shortened(given)
    if given.card:
        return [*taken_out, *part_omissions(given.texts)]
    if given.prompts is None:
        return taken_out
    rounds, seed = given.params.calibrate.rounds, given.params.seed
    compacted = compactions(given.texts, given.prompts, rounds=rounds, seed=seed)
    return [*taken_out, *(one for *_, one in compacted if one is not None)]


def part_omissions(notes: Mapping[str, str]) -> list[Shortened]:
    """Each note without the second clause, or the addition, of its first sentence that has one said nowhere else."""
    found = []
    for name in sorted(notes):
        note = notes[name]
        facts = tuple(one for one in sentences(note) if len(one.split()) >= MIN_WORDS and note.count(one) == 1)
        for at, fact in enumerate(facts):
            match = _CLAUSES.match(fact) or _ADDED.match(fact)
            shorter = note if match is None else note.replace(fact, f"{match['first']}.")
            if match is not None and is_gone(match["second"], shorter):
                found.append(Shortened(name, facts, frozenset({at}), shorter, PART_LEFT_OUT))
                break
    return found


async def judge_omissions(ask: Ask, planted: Sequence[Shortened], _: Params) -> tuple[list[Row], Unscored]:
    """Is a fact found to be omitted just where it was taken out?"""
    rows: list[Row] = []
    unscored: Unscored = []
    for kinds in dict.fromkeys(one.kinds for one in planted):  # of each a text has one case at most
        own = {one.document: one for one in planted if one.kinds == kinds}
        cases = [
            Case(name, one.summary, {f"F{at}": ("medical", fact) for at, fact in enumerate(one.facts)})
            for name, one in own.items()
        ]
        found, failures = await find_omissions(ask, cases, {name: one.summary for name, one in own.items()})
        unscored += [{**row, "step": f"planted {row['step']}"} for row in failures]
        for name, one in own.items():
            verdicts, asked = found.get(name, {}), {"premise": one.summary, "call": f"{kinds[0]}/{name}"}
            for at, (fact, gone) in enumerate(one.sentences()):
                judged = verdicts[f"F{at}"] is not None if f"F{at}" in verdicts else None
                rows.append(case_verdict(name, "omissions", kinds[not gone], fact, gone, judged, **asked))
    return rows, unscored


async def judge_list(ask: Ask, planted: Sequence[Shortened], _: Params) -> tuple[list[Row], Unscored]:
    """Does the list of facts cover every sentence of the text, and none that was taken out of it?"""
    cases = await add_facts(ask, [Case(one.document, one.summary) for one in planted])
    lists = {one.key: None if one.failure else tuple(text for _, text in one.facts.values()) for one in cases}
    unscored = [{**one.failure, "step": "planted facts"} for one in cases if one.failure is not None]
    return listed_rows(planted, lists, "facts"), unscored


_MATCHED = {(SYSTEM, name): ("omissions", frozenset(BY_WRITER)) for name in OMISSIONS}
CASES = (
    Cases(
        "omissions",
        make_omissions,
        judge_omissions,
        {
            "omissions": Asked(
                "Is the fact, or a part of it, missing from the text?", "omitted facts", "facts that are not omitted"
            )
        },
        place=3,
        letter="o",
        corrected=Corrected("med_omit_judged", OMISSIONS, _MATCHED, condition="judge"),
    ),
    Cases("facts", make_shortened, judge_list),
)
