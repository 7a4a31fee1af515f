"""Type annotations in words: ``int or null``, ``normal or compact``, ``list of str``."""

from typing import Annotated, Any, get_args, get_origin

_WORDS = {"str": "text", "int": "integer", "float": "number", "bool": "true or false", "Path": "path", "Any": "any"}


def in_words(annotation: Any) -> str:
    """The values that an annotation allows."""
    arguments = get_args(annotation)
    if annotation is type(None):
        return "null"
    if get_origin(annotation) is Annotated:
        return in_words(arguments[0])
    if arguments and all(isinstance(part, str) for part in arguments):  # a Literal
        return " or ".join(arguments)
    if get_origin(annotation) is list:
        return f"list of {in_words(arguments[0])}"
    if get_origin(annotation) is dict:
        return f"mapping of {in_words(arguments[0])} to {in_words(arguments[1])}"
    if arguments:
        return " or ".join(in_words(part) for part in arguments)
    name = getattr(annotation, "__name__", str(annotation))
    return _WORDS.get(name, name)
