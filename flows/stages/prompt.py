"""Stage `prompt`: builds each record's prompt."""

from flows.runtime.stage import Stage
from tasks.domains.rules import rules_of
from tasks.notes.prompting import build_prompts


async def run(stage: Stage) -> None:
    """Write the prompts."""
    rules = rules_of(stage.params.domain)
    stage.save("prompts", build_prompts(stage.load("records"), stage.network, rules, stage.params.seed))
