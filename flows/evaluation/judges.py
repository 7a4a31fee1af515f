"""The models named in a command's options: a model for each role, one judge, or several."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import yaml
from pydantic import ValidationError

from flows.repository.params import expectation
from schemas.errors import ParamsError, did_you_mean
from schemas.params import Params
from schemas.params.base import Section
from schemas.params.llm import SIMULATOR, Role, RoleName, Sending
from tasks.transport.shown import public_params, public_url
from tasks.transport.untrusted import YamlLoader

S = TypeVar("S", bound=Section)
JUDGE_ROLES: tuple[RoleName, ...] = ("judge", "annotator")
"""A judge's model plays both; the annotator's requests are those of the consistency check."""


def choose_role(given: str, role: RoleName, params: Params) -> Role:
    """The endpoint that ``given`` names: ``simulator`` (rules), a role of params.yaml, or ``MODEL@URL``.

    Settings of the role may follow the URL: ``MODEL@URL#temperature=null&send_seed=false``; those of sending are read
    by `with_roles`. Raises ParamsError for anything else.
    """
    if given == SIMULATOR:
        return Role(base_url=SIMULATOR, model=f"vignette-{role}", temperature=0.0)
    if given in params.roles:
        return params.roles[given]
    if given_name(given):
        shown = public_params(given)
        raise ParamsError(f"{role} {shown}: only judges have a name, NAME=JUDGE; expected {shown.partition('=')[2]}")
    model, at, url = given.partition("#")[0].rpartition("@")
    if at and model and url.startswith(("http://", "https://")):
        return _made(
            Role, given, {"base_url": url, "model": model, "temperature": 0.0} | _settings(given, sending=False)
        )
    raise ParamsError(
        f"{role} {public_params(given)!r}: expected {SIMULATOR}, a role of the params ({', '.join(params.roles)}) or "
        f"MODEL@URL, for example gpt-4o@https://api.openai.com/v1{did_you_mean(given, [SIMULATOR, *params.roles])}"
    )


def _settings(given: str, *, sending: bool) -> dict[str, Any]:
    """The settings after the address of a model: those of how requests are sent, or the others, of the role."""
    address, _, settings = given.partition("#")
    pairs = [setting.partition("=") for setting in settings.split("&") if setting]
    try:
        return {
            name: yaml.load(value, YamlLoader) for name, _, value in pairs if (name in Sending.model_fields) == sending
        }
    except yaml.YAMLError as error:
        raise ParamsError(f"{_shown(address)}: expected SETTING=VALUE, joined by &") from error


def _shown(given: str) -> str:
    """A model's address without what may be secret."""
    model, _, url = given.partition("#")[0].rpartition("@")
    return f"{model}@{public_url(url)}"


def _made(of: type[S], given: str, values: Mapping[str, Any]) -> S:
    """A role, or how its requests are sent, of these values. Raises ParamsError with the model's address."""
    try:
        return of.model_validate(values)
    except ValidationError as error:
        said = [": ".join(map(str, (*problem["loc"][:1], expectation(problem)))) for problem in error.errors()]
        known = [*Role.model_fields, *Sending.model_fields]
        said += [f"unknown setting{did_you_mean(name, known)}" for name in values if name not in known]
        raise ParamsError(f"{_shown(given)}: {'; '.join(said)}") from error


def chosen_models(judge: str, writer: str | None, answerer: str | None) -> dict[RoleName, str]:
    """The model of each role. The judge's model also writes outputs and questions, and answers these, unless another
    one is given; where the judge is a role of params.yaml, the roles writer, annotator and answerer do so.
    """
    if judge == SIMULATOR or "@" in judge:
        return {"judge": judge, "writer": writer or judge, "annotator": judge, "answerer": answerer or judge}
    return {"judge": judge, "writer": writer or "writer", "annotator": "annotator", "answerer": answerer or "answerer"}


def with_roles(params: Params, chosen: Mapping[RoleName, str]) -> Params:
    """``params`` with the roles that ``chosen`` names; settings of sending that follow an address go to its role."""
    roles, sending = {**params.roles}, {**params.runtime.sending}
    for role, given in chosen.items():
        roles[role] = choose_role(given, role, params)
        if own := _settings(given, sending=True):
            sending[role] = _made(Sending, given, sending.get(role, Sending()).model_dump() | own)
    runtime = params.runtime.model_copy(update={"sending": sending})
    return params.model_copy(update={"roles": roles, "runtime": runtime})


def with_judge(params: Params, judge: str) -> Params:
    """``params`` with the judge that is named as in `vignette evaluate`, who also checks notes against records."""
    _, judge = named_judge(judge)
    models = chosen_models(judge, judge, None)
    return with_roles(params, {role: models[role] for role in JUDGE_ROLES})


READINGS = (STRICT, CLINICIAN) = ("strict", "clinician")
"""Of claims: as a style of DocLens that its paper has, or as a physician takes them from a text."""


def read_as(params: Params, reading: str) -> Params:
    """``params`` by which claims are read so. Raises ParamsError for another reading, and for an evaluator without."""
    if reading not in READINGS:
        raise ParamsError(f"--reading {reading}: expected {' or '.join(READINGS)}{did_you_mean(reading, READINGS)}")
    if params.doclens.evaluator != "instruction":
        raise ParamsError(f"--reading {reading}: doclens.evaluator is {params.doclens.evaluator}; expected instruction")
    own = "json_cot" if params.doclens.style == CLINICIAN else params.doclens.style
    style = CLINICIAN if reading == CLINICIAN else own
    return params.model_copy(update={"doclens": params.doclens.model_copy(update={"style": style})})


def named_judge(entry: str) -> tuple[str, str]:
    """Name and endpoint of ``NAME=JUDGE``, or of a judge without a name: that of its model or role."""
    if name := given_name(entry):
        return name, entry.partition("=")[2]
    return entry.partition("#")[0].rpartition("@")[0] or entry, entry


def given_name(entry: str) -> str | None:
    """The name of ``NAME=JUDGE``; None for a judge without one."""
    name, equals, given = entry.partition("=")
    if not equals or "@" in name or "/" in name:
        return None
    if not (name.strip() and given):
        raise ParamsError(f"--judge {public_params(entry)}: expected JUDGE or NAME=JUDGE")
    return name


def name_judges(params: Params, judges: Sequence[str]) -> list[str]:
    """Names of the judges given with ``--judge``. Raises ParamsError for two of one name, and as `judges_of`."""
    given: dict[str, str] = {}
    for entry in judges:
        name, said = named_judge(entry)
        if name in given:
            entry, other, said = public_params([entry, given[name], said])
            raise ParamsError(
                f"--judge {entry}: the name {name} is taken by --judge {other}; give one of them a name of its own, "
                f"--judge NAME={said}"
            )
        given[name] = entry
    _require_different(judges, [choose_role(named_judge(entry)[1], "judge", params) for entry in judges])
    return list(given)


def judges_of(params: Params, judges: Sequence[str]) -> list[Params]:
    """``params`` with each of the judges. Raises ParamsError for two that are the same model at the same endpoint."""
    every = [with_judge(params, judge) for judge in judges]
    _require_different(judges, [one.roles["judge"] for one in every])
    return every


def _require_different(judges: Sequence[str], roles: Sequence[Role]) -> None:
    models = [(role.base_url, role.model) for role in roles]
    for place, model in enumerate(models):
        if model in models[:place]:
            entry, other = public_params([judges[place], judges[models.index(model)]])
            raise ParamsError(f"judge {entry}: the same model as {other}; name each judge once")


NO_JUDGE = "name a model, MODEL@URL or a role of params.yaml, or simulator for a dry run, whose figures say nothing"


def with_judges(
    params: Params,
    judges: Sequence[str],
    writer: str | None,
    answerer: str | None,
    readings: Sequence[str] = (),
) -> tuple[Params, dict[str, Params]]:
    """The params of an evaluation by the first judge, and those of all judges by name; no names for a single judge.

    With several ``readings`` of claims each judge has one name for each, ``NAME, READING``. Without a judge nothing is
    asked of one, see `flows.evaluation.work.require_judge`.
    """
    judges = judges or [SIMULATOR]
    chosen = chosen_models(named_judge(judges[0])[1], writer, answerer)
    known, names = with_roles(params, chosen), name_judges(params, judges)
    asked = {
        name: with_roles(params, {**chosen, "judge": named_judge(judge)[1]})
        for name, judge in zip(names, judges, strict=True)
    }
    distinct = list(dict.fromkeys(readings))
    if distinct:
        read = {(name, one): read_as(own, one) for name, own in asked.items() for one in distinct}
        asked = {", ".join(key) if len(distinct) > 1 else key[0]: own for key, own in read.items()}
        known = next(iter(asked.values()))
    return known, asked if len(asked) > 1 else {}
