"""The simulator's annotator on notes of the domain in use whose truth its writer knows."""

from flows.engine.domain import load_domain
from flows.engine.simulated_truth import write_gold
from tasks.domains.in_use import domain_data
from tasks.network.sampling import sample
from tasks.notes.prompting import build_prompts
from tasks.simulator.quality import consistency_rates, symptom_f1

WRITERS = {"first": "vignette-writer", "second": "vignette-writer-second"}
CALIBRATION = {"first": "vignette-writer-calibration", "second": "vignette-writer-calibration-second"}


def domain_quality(records: int, seed: int) -> dict[str, dict[str, float]]:
    """F1 of symptoms in notes, and precision and recall of the consistency check, by wording of the symptoms."""
    domain = load_domain()
    rules = domain.wording
    parents = {symptom: domain.network.parents(symptom) for symptom in rules.symptoms}
    prompts = build_prompts(sample(domain.network, records, seed), parents, rules, seed)
    wordings = WRITERS if domain_data("second/wordings") else {"first": WRITERS["first"]}
    found = {}
    for wording, writer in wordings.items():
        gold = write_gold(prompts, writer)
        f1 = {
            f"symptom F1 ({version})": symptom_f1(gold.version(version).values(), rules.labels)
            for version in ("normal", "compact")
        }
        symptomatic = prompts[prompts["kind"] == "symptoms"]
        asked = dict(zip(symptomatic["record"].tolist(), symptomatic["instructions"].tolist(), strict=True))
        found[wording] = f1 | consistency_rates(write_gold(symptomatic, CALIBRATION[wording]).normal, asked)
    return found
