"""How well the simulator reads its own notes of a domain, and whether its writer has a rule for all that may be asked.

The truth of the notes is known; the reader is the simulator's annotator. Writer and annotator run in this process, so
the domain in use is theirs.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from tasks.domains import in_use
from tasks.domains.rules import PromptingRules
from tasks.judges.simulated_notes import ERRING, VERSIONS, WRITER, write_gold
from tasks.network.graph import NetworkDefinition
from tasks.network.sampling import sample
from tasks.notes.prompting import build_prompts
from tasks.simulator.annotator.spans import find_spans
from tasks.simulator.quality import consistency_rates, symptom_f1
from tasks.simulator.truth import Truth
from tasks.simulator.writer.plan import levels, plan, rule_of
from tasks.simulator.writer.rules import grammar, writer_rates


@dataclass(frozen=True)
class Misread:
    """A symptom that the annotator missed, or found where the writer wrote none, in ``notes`` of one version.

    ``example``: the most frequent wording, as marked by the writer if missed, as read by the annotator if not.
    """

    version: str
    error: str
    symptom: str
    notes: int
    example: str


@dataclass(frozen=True)
class Reading:
    """F1 of symptoms in notes, precision and recall of the consistency check, and the misread symptoms."""

    measures: dict[str, float]
    misread: list[Misread]


def domain_reading(network: NetworkDefinition, rules: PromptingRules, records: int, seed: int) -> dict[str, Reading]:
    """The annotator's reading of notes for ``records`` sampled records, by wording of the symptoms."""
    prompts = build_prompts(sample(network, records, seed), network, rules, seed)
    symptomatic = prompts[prompts["kind"] == "symptoms"]
    asked = dict(zip(symptomatic["record"].tolist(), symptomatic["instructions"].tolist(), strict=True))
    wordings = {"first": "", "second": "-second"} if in_use.domain_data("second/wordings") else {"first": ""}
    found = {}
    for wording, suffix in wordings.items():
        gold = write_gold(prompts, WRITER + suffix)
        by_version = {version: gold.version(version).values() for version in VERSIONS}
        f1 = {f"symptom F1 ({version})": symptom_f1(notes, rules.labels) for version, notes in by_version.items()}
        rates = consistency_rates(write_gold(symptomatic, ERRING + suffix).normal, asked)
        misread = [
            one for version, notes in by_version.items() for one in misread_symptoms(version, notes, rules.labels)
        ]
        found[wording] = Reading(f1 | rates, misread)
    return found


def misread_symptoms(version: str, notes: Collection[Truth], labels: Mapping[str, str]) -> list[Misread]:
    """The symptoms that the annotator misread in ``notes``, the most frequent first.

    ``labels``: the annotator's label of each of the writer's symptoms.
    """
    counts: dict[tuple[str, str], Counter[str]] = {}
    for known in notes:
        marked = {labels[span.symptom]: span.text for span in known.spans}
        read = {span.symptom: known.text[span.start : span.end] for span in find_spans(known.text)}
        for error, these, others in (("missed", marked, read), ("not in note", read, marked)):
            for symptom in these.keys() - others.keys():
                counts.setdefault((error, symptom), Counter())[these[symptom]] += 1
    misread = [
        Misread(version, error, symptom, texts.total(), min(texts, key=lambda text: (-texts[text], text)))
        for (error, symptom), texts in counts.items()
    ]
    return sorted(misread, key=lambda one: (-one.notes, one.error, one.symptom))


def writing_defects(rules: PromptingRules) -> list[str]:
    """One line for each missing rule or leftover name. Expects a domain without `simulator_defects`."""
    known, needed = grammar(), dict([*_follow_ups(rules.symptoms), *_findings()])
    where, remedy = in_use.domain_folder() / "writer", "add the rule or set the rate to 0"
    missing = [
        f"{where}: no rule {rule}, which {rate} of rates.yaml needs; {remedy}"
        for rule, rate in needed.items()
        if rule not in known
    ]
    return [*missing, *_leftovers(rules)]


def _follow_ups(symptoms: Collection[str]) -> Iterator[tuple[str, str]]:
    """Rules of questions and examinations for a complaint, each with the key of the rate that needs it."""
    rates, focus = writer_rates().focus, plan().examination.focus
    for symptom in symptoms:
        for value in levels(symptom) or ("",):
            if rates["history"][symptom]:
                yield rule_of(f"focus.history.{symptom}", symptom, value), f"focus.history.{symptom}"
            if symptom in focus.order and rates["exam"][symptom]:
                rule = rule_of(f"focus.exam.{symptom}", symptom, value)
                for suffix in focus.by_region.get(symptom, [""]):
                    yield rule + suffix, f"focus.exam.{symptom}"


def _findings() -> Iterator[tuple[str, str]]:
    """Rules of findings, each with the key of the rate that needs it."""
    rates = writer_rates()
    for symptom in plan().examination.symptoms:
        if rates.exam[symptom]:
            yield f"{symptom}.exam", f"exam.{symptom}"
        if rates.exam_absent[symptom]:
            yield f"{symptom}.exam_absent", f"exam_absent.{symptom}"
        if rates.examined.get(symptom, 0) and f"{symptom}.examined" not in grammar():
            yield f"{symptom}.exam_absent", f"examined.{symptom}"


def _leftovers(rules: PromptingRules) -> Iterator[str]:
    """Lines on words for a condition that the domain does not have."""
    labels = {rules.labels[name] for name in rules.conditions}
    condition = in_use.domain_data("writer/conditions")["condition"]
    for key in ("names", "alone"):
        for label in sorted(condition.get(key, {}).keys() - labels):
            yield (
                f"{in_use.domain_file('writer/conditions')}: key condition.{key}.{label}: "
                f"no underlying condition has the label {label!r}; remove it"
            )
