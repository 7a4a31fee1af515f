"""The folders of the clinical domains, and the domain that a process works in.

A function gets the domain or its rules as an argument. Only the simulator reads the domain in use: it runs in a process
that works in one domain. Its name is kept in an environment variable, so that processes started by this one
(pools of a baseline) work in the same domain.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

import yaml

from schemas.errors import DomainError
from tasks.transport.untrusted import compose_yaml

VARIABLE = "VIGNETTE_DOMAIN"
DEFAULT = "respiratory"
"""The domain of scripts that choose none; stages use the ``domain`` of params.yaml."""
FOLDER = Path(__file__).resolve().parent

Function = TypeVar("Function", bound=Callable[..., Any])
_caches: list[Any] = []


def domain_cache(maxsize: int) -> Callable[[Function], Function]:
    """Cache results that depend on the domain in use: `functools.lru_cache`, emptied when the domain changes."""

    def cached(function: Function) -> Function:
        made: Any = lru_cache(maxsize=maxsize)(function)
        _caches.append(made)
        return made

    return cached


def domain_names() -> list[str]:
    """Names of the domains that exist, sorted."""
    return sorted(path.parent.name for path in FOLDER.glob("[!_]*/network.yaml"))


def require_domain(name: str) -> None:
    """Raises DomainError for a name without a folder."""
    if name not in domain_names():
        raise DomainError(f"domain {name!r}: no such folder; expected one of {', '.join(domain_names())}")


def use_domain(name: str) -> None:
    """Work in the domain ``name`` from now on. Raises DomainError for a name without a folder."""
    require_domain(name)
    if name != domain_name():
        for cache in _caches:
            cache.cache_clear()
    os.environ[VARIABLE] = name


@contextmanager
def in_domain(name: str) -> Iterator[None]:
    """Work in the domain ``name`` within a ``with`` block. Raises DomainError for a name without a folder."""
    before = domain_name()
    use_domain(name)
    try:
        yield
    finally:
        use_domain(before)


def domain_name() -> str:
    """Name of the domain in use."""
    return os.environ.get(VARIABLE, DEFAULT)


def domain_folder() -> Path:
    """Folder of the domain in use."""
    return FOLDER / domain_name()


def domain_file(name: str) -> Path:
    """A YAML file of the domain in use by its path without suffix, such as ``lexicon/symptoms``."""
    return domain_folder() / f"{name}.yaml"


@domain_cache(maxsize=64)
def data_of(domain: str, name: str) -> Any:
    """Content of a YAML file of a domain by its path without suffix, such as ``lexicon/symptoms``.

    Raises DomainError if the domain has no such file.
    """
    path = FOLDER / domain / f"{name}.yaml"
    if not path.is_file():
        raise DomainError(f"{path}: no such file; every domain needs one")
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        text = path.read_text(encoding="utf-8")
        compose_yaml(text, loader)
        return yaml.load(text, Loader=loader)
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise DomainError(f"{path}: not valid YAML: {' '.join(str(error).split())}") from error


def domain_data(name: str) -> Any:
    """`data_of` the domain in use."""
    return data_of(domain_name(), name)
