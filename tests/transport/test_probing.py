"""A probe keeps the replies to each canary prompt by the prompt, of as many samples for each."""

from pathlib import Path

from tasks.transport.epochs import PROMPTS, SAMPLES
from tests.support.hosted import completion, hosted
from tests.support.scenarios import look


def test_the_replies_to_a_canary_are_kept_with_its_prompt(tmp_path: Path) -> None:
    with hosted(lambda body, _: completion(f"{body['messages'][0]['content']} {body['seed']}", body)) as endpoint:
        found = look(endpoint, tmp_path).canaries
    assert found == {prompt: [f"{prompt} {sample}" for sample in range(SAMPLES)] for prompt in PROMPTS}
