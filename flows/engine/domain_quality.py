"""The simulator's annotator on notes of the domain in use whose truth its writer knows."""

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from flows.engine.domain import load_domain
from flows.engine.simulated_truth import write_gold
from tasks.domains.in_use import domain_data
from tasks.network.sampling import sample
from tasks.notes.prompting import build_prompts
from tasks.simulator.annotator.spans import find_spans
from tasks.simulator.quality import consistency_rates, symptom_f1
from tasks.simulator.truth import Truth

WRITERS = {"first": "vignette-writer", "second": "vignette-writer-second"}
VERSIONS = ("normal", "compact")
CALIBRATION = {"first": "vignette-writer-calibration", "second": "vignette-writer-calibration-second"}


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
class Quality:
    """F1 of symptoms in notes, precision and recall of the consistency check, and the misread symptoms."""

    measures: dict[str, float]
    misread: list[Misread]


def domain_quality(records: int, seed: int) -> dict[str, Quality]:
    """Quality of the annotator by wording of the symptoms, on notes for ``records`` sampled records."""
    domain = load_domain()
    rules = domain.wording
    parents = {symptom: domain.network.parents(symptom) for symptom in rules.symptoms}
    prompts = build_prompts(sample(domain.network, records, seed), parents, rules, seed)
    wordings = WRITERS if domain_data("second/wordings") else {"first": WRITERS["first"]}
    found = {}
    for wording, writer in wordings.items():
        gold = write_gold(prompts, writer)
        by_version = {version: gold.version(version).values() for version in VERSIONS}
        f1 = {f"symptom F1 ({version})": symptom_f1(notes, rules.labels) for version, notes in by_version.items()}
        symptomatic = prompts[prompts["kind"] == "symptoms"]
        asked = dict(zip(symptomatic["record"].tolist(), symptomatic["instructions"].tolist(), strict=True))
        rates = consistency_rates(write_gold(symptomatic, CALIBRATION[wording]).normal, asked)
        misread = [
            one for version, notes in by_version.items() for one in misread_symptoms(version, notes, rules.labels)
        ]
        found[wording] = Quality(f1 | rates, misread)
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
