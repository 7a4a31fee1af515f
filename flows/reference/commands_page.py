"""The page of commands: usage, arguments and options of every ``vignette`` command, from the functions behind them."""

import inspect
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from typer.models import ArgumentInfo, OptionInfo

from flows.commands.cli import COMMANDS
from flows.reference.markdown import code, table
from flows.reference.types import in_words


def commands_page() -> str:
    """One section per command and per subcommand."""
    rows = [(f"[`vignette {name}`](#vignette-{name})", text) for name, (_, text) in COMMANDS.items()]
    parts = ["# Commands\n", table(("command", ""), rows)]
    for name, (module_name, _) in COMMANDS.items():
        module = import_module(module_name)
        subcommands = getattr(module, "SUBCOMMANDS", None)
        parts.append(f"## vignette {name}\n")
        if subcommands is None:
            parts.append(_command(name, module.main))
            continue
        parts.append(f"{module.__doc__}\n")
        for function in subcommands:
            full = f"{name} {function.__name__.rstrip('_')}"
            parts.append(f"### vignette {full}\n\n{_command(full, function)}")
    return "\n".join(parts)


def _command(name: str, function: Callable[..., Any]) -> str:
    given = list(_parameters(function))
    arguments = " ".join(shown for shown, info, *_ in given if isinstance(info, ArgumentInfo))
    options = "[OPTIONS]" if any(isinstance(info, OptionInfo) for _, info, *_ in given) else ""
    usage = " ".join(part for part in ("vignette", name, arguments, options) if part)
    rows = [(code(shown), values, _text(info, default)) for shown, info, values, default in given]
    listed = table(("parameter", "values", ""), rows) if rows else ""
    return f"{_paragraphs(function)}\n\n```text\n{usage}\n```\n\n{listed}"


def _parameters(function: Callable[..., Any]) -> Iterator[tuple[str, ArgumentInfo | OptionInfo, str, Any]]:
    """(as typed, typer's description, values, default) of each parameter."""
    hints = get_type_hints(function, include_extras=True)
    for name, parameter in inspect.signature(function).parameters.items():
        annotation, default = hints[name], parameter.default
        plain, *extras = get_args(annotation) if get_origin(annotation) is Annotated else (annotation,)
        info = next((one for one in extras if isinstance(one, ArgumentInfo | OptionInfo)), None) or OptionInfo()
        values = in_words(plain).removesuffix(" or null")
        if isinstance(info, ArgumentInfo):
            shown = (info.metavar or name).upper() + ("..." if get_origin(plain) is list else "")
            shown = shown if default is inspect.Parameter.empty else f"[{shown}]"
        else:
            option = name.rstrip("_").replace("_", "-")
            shown = ", ".join(info.param_decls or [f"--{option}"] + [f"--no-{option}"] * (default is True))
            values = "" if plain is bool else info.metavar or values
        yield shown, info, values, default


def _text(info: ArgumentInfo | OptionInfo, default: Any) -> str:
    shown = "" if default in (None, True, False, inspect.Parameter.empty) else f" Default: {code(default)}."
    return (info.help or "") + shown


def _paragraphs(function: Callable[..., Any]) -> str:
    return inspect.getdoc(function) or ""
