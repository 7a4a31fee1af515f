"""Builds the configured evaluator, its name in tables, and the writer's in-context examples."""

from collections.abc import Sequence
from functools import lru_cache
from importlib.resources import files

import yaml

from schemas.errors import ParamsError
from schemas.params.base import Device
from schemas.params.doclens import DocLens
from tasks.evaluation.doclens.cited_outputs import Example
from tasks.evaluation.doclens.evaluators import EmbeddedEvaluator, Evaluator, InstructionEvaluator, NliEvaluator
from tasks.evaluation.doclens.subclaims import Limits
from tasks.llm.calls import Ask


def make_evaluator(params: DocLens, ask: Ask) -> Evaluator:
    """Build the evaluator named by ``params``; ``ask`` is the judge's client.

    Raises ParamsError for an NLI evaluator without a model.
    """
    if params.evaluator == "instruction":
        return InstructionEvaluator(ask, params.style, params.examples)
    if params.evaluator == "embedded":
        return EmbeddedEvaluator()
    if params.nli_model is None:
        raise ParamsError("doclens.nli_model is null; name a model or folder, or set doclens.evaluator to instruction")
    return NliEvaluator(_nli(params.nli_model, params.nli_batch, params.nli_device))


def other_evaluators(params: DocLens, nli_models: Sequence[str], *, rules: bool) -> list[Evaluator]:
    """The evaluators that judge in addition to that of ``params``: the rules if ``rules``, and NLI models by name."""
    found: list[Evaluator] = [EmbeddedEvaluator()] if rules else []
    own = params.nli_model if params.evaluator == "nli" else None
    return found + [NliEvaluator(_nli(name, params.nli_batch, params.nli_device)) for name in nli_models if name != own]


@lru_cache(maxsize=4)
def _nli(name: str, batch: int, device: Device):  # type: ignore[no-untyped-def]
    from tasks.encoder.nli import load_nli  # torch and transformers are imported only if needed

    return load_nli(name, batch=batch, device=device)


def claim_limits(params: DocLens) -> Limits:
    """How many claims of a text are listed."""
    return Limits(params.claims_a_reply, params.claim_rounds)


def condition(params: DocLens) -> str:
    """The evaluator's name in the condition column."""
    if params.evaluator == "instruction":
        return params.style
    return params.nli_model or "nli" if params.evaluator == "nli" else "embedded rules"


def citation_condition(params: DocLens) -> str:
    """The citation evaluator's name in the condition column."""
    return f"{condition(params)}, one call" if params.citations == "one_call" else condition(params)


def writer_examples(prompt: str, count: int) -> list[Example]:
    """The first ``count`` in-context examples of a prompt for cited texts."""
    raw = yaml.safe_load(files(__package__).joinpath("examples.yaml").read_text(encoding="utf-8"))
    return [Example(entry["source"], entry["output"]) for entry in raw[prompt][:count]]
