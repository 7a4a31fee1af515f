"""Hashes what shapes the replies of a model of the simulator: the meaning of its rules, their data, and the domain."""

import functools
import hashlib
import json

from schemas.errors import IdentityError
from tasks.code import Code, Place
from tasks.domains.in_use import domain_cache, domain_folder
from tasks.simulator.dispatch import MODELS, family, modules_of

CORE = ("tasks.simulator.dispatch", "tasks.simulator.request")
"""Modules that every reply passes through; the application and its server transport replies unchanged."""
BEYOND = ("schemas", "tasks.transport", "tasks.domains.in_use")
"""What finds and checks the data of the rules."""


@domain_cache(maxsize=16)
def content_hash(model: str) -> str:
    """Hash of all that shapes the replies of ``model``. Raises IdentityError for a model that is not served."""
    return hashlib.sha256(json.dumps(content(model, _code())).encode()).hexdigest()


@functools.cache
def _code() -> Code:
    """The code of this process, read once for all models: its hashes do not change while it runs."""
    return Code()


def content(model: str, code: Code) -> dict[str, str]:
    """Hashes of the modules, by name, and of the files, by path: the model's rules, what they import, and the domain.

    A module brings all data files of its package.
    """
    if model not in MODELS:
        served = ", ".join(MODELS)
        raise IdentityError(f"the simulator serves no model {model!r} but {served}; correct params.yaml")
    roots: list[Place] = [(module, None) for module in (*CORE, *modules_of(family(model)))]
    beyond = {module for module in code.modules if f"{module}.".startswith(tuple(f"{one}." for one in BEYOND))}
    modules = code.reached(roots, beyond, by_name=False)
    packages = {module.rpartition(".")[0] for module in modules}
    found = code.hashes(modules, [path for path, package in code.files.items() if package in packages])
    return found | _domain(family(model))


def _domain(package: str) -> dict[str, str]:
    """Hashes of files of the domain in use: the writer's words or, for the other models, the lexicon that they read."""
    folder = domain_folder()
    within = [folder / name for name in ("writer" if package == "writer" else "lexicon",)]
    files = [folder / f"{name}.yaml" for name in ("network", "wording", "history")]
    files += [path for one in within for path in sorted(one.rglob("*"))]
    return {
        path.relative_to(folder.parent).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in files
        if path.is_file()
    }
