"""Stage `prompt`: builds each record's prompt."""

from flows.engine.stage import Stage
from schemas.tables.network import records_schema
from schemas.tables.notes import PROMPTS
from tasks.domains.rules import load_rules
from tasks.network.definition import load_definition
from tasks.notes.prompting import build_prompts


async def run(stage: Stage) -> None:
    """Write the prompts."""
    definition = load_definition(stage.dep("network"))
    records = stage.load("records", records_schema(definition))
    rules = load_rules()
    parents = {symptom: definition.parents(symptom) for symptom in rules.symptoms}
    stage.save("prompts", build_prompts(records, parents, rules, stage.params.seed), PROMPTS)
