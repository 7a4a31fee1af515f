"""Reads JSON and YAML of files that others made, within limits: a small file must not fill the memory or end a command.

A file of JSON Lines is read a line at a time: neither a long line nor a packed one fills the memory.

What is refused is the ValueError or YAMLError that a damaged file raises, so that a reader names both in the same way.
"""

import gzip
import json
import re
import stat
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import yaml

from schemas.errors import SourceError, repeated

LARGEST = 200_000_000
"""Most bytes of a file, packed or unpacked."""
MOST_VALUES = 5_000_000
"""Most values of a file: a value takes some 100 bytes of memory, and may take two in the file."""
DEEPEST = 100
"""Most levels of lists and objects."""
LONGEST_LINE = 32_000_000
"""Most bytes of a line of JSON Lines, unpacked: twice those of the longest reply."""


def require_regular(path: Path) -> int:
    """The bytes of a file. Raises SourceError for a folder, device or pipe, which might never end, and OSError."""
    found = path.stat()
    if not stat.S_ISREG(found.st_mode):
        raise SourceError(f"{path}: cannot be read (a folder or a device); expected a file")
    return found.st_size


def read_bytes(path: Path, most: int = LARGEST) -> bytes:
    """The content of a regular file. Raises SourceError for what cannot be read and for more than ``most`` bytes."""
    try:
        if (size := require_regular(path)) > most:
            raise SourceError(f"{path}: has {size:,} bytes; expected at most {most:,}; divide the file")
        return path.read_bytes()
    except OSError as error:
        raise SourceError(f"{path}: cannot be read ({error.strerror}); check name and permissions") from error


SCALARS = "expected a number, a text in UTF-8 or nothing in each cell"


@contextmanager
def of_form(place: str, expected: str) -> Iterator[None]:
    """Raise SourceError, which names the place and what is ``expected`` there, where a value has another form."""
    try:
        yield
    except (LookupError, TypeError, AttributeError, ValueError) as error:
        raise SourceError(f"{place}: {expected} ({type(error).__name__}: {str(error)[:80]})") from error


def parse_json(text: str) -> Any:
    """The value of a JSON text. Raises ValueError for no JSON, a duplicate key, and more than the limits allow."""
    if text.count(",") + text.count("[") + text.count("{") > MOST_VALUES:
        raise ValueError(f"more than {MOST_VALUES:,} values; divide the file")
    try:
        found = json.loads(text, object_pairs_hook=_without_duplicates)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    level, depth = [found], 0
    while level := [
        child
        for node in level
        if isinstance(node, dict | list)
        for child in (node.values() if isinstance(node, dict) else node)
    ]:
        depth += 1
        if depth > DEEPEST:
            raise ValueError(f"nested too deeply; expected at most {DEEPEST} levels")
    return found


def _without_duplicates(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError(f"key {str(repeated(name for name, _ in pairs))[:60]} is a duplicate")
    return found


def json_lines(file: Path) -> Iterator[tuple[int, Any]]:
    """The number and the value of each line that is not blank; a file ``.gz`` is unpacked.

    Raises SourceError naming the line for a file that cannot be read or unpacked, and for a line that is not UTF-8, is
    no JSON, or is longer than `LONGEST_LINE` bytes.
    """
    place = str(file)
    try:
        require_regular(file)
        with gzip.open(file) if file.suffix == ".gz" else file.open("rb") as lines:
            for number in count(1):
                place = f"{file}: line {number}"
                line = lines.readline(LONGEST_LINE + 1)
                if not line:
                    return
                if len(line) > LONGEST_LINE:
                    raise SourceError(f"{place}: longer than {LONGEST_LINE:,} bytes; expected one object on each line")
                if not line.isspace():
                    yield number, parse_json(line.decode("utf-8-sig"))
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise SourceError(f"{place}: cannot be unpacked ({error}); get the file again, or unpack it first") from error
    except OSError as error:
        raise SourceError(f"{file}: cannot be read ({error.strerror}); check name and permissions") from error
    except UnicodeDecodeError as error:
        byte = error.object[error.start]
        raise SourceError(f"{place}: byte {byte:#04x} is not UTF-8; save the file in UTF-8") from error
    except ValueError as error:
        raise SourceError(f"{place}: not JSON ({error}); expected one object on each line") from error


class YamlLoader(yaml.SafeLoader):
    """Reads numbers as YAML 1.2 writes them, too: ``1e-06``, which YAML 1.1 takes for a text.

    Raises YAMLError for a value that cannot be: a number of more than 4,300 digits, the 31st of June.
    """

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        """The value of a node."""
        try:
            return super().construct_object(node, deep)
        except ValueError as error:
            raise yaml.constructor.ConstructorError(
                None, None, str(error).partition(":")[0], node.start_mark
            ) from error


YamlLoader.add_implicit_resolver(
    "tag:yaml.org,2002:float", re.compile(r"[-+]?[0-9]+(?:\.[0-9]*)?[eE][-+]?[0-9]+\Z"), list("-+0123456789")
)


def compose_yaml(text: str, loader: Any = YamlLoader) -> yaml.Node | None:
    """The nodes of a YAML text. Raises YAMLError for no YAML and where its aliases stand for too many values."""
    try:
        node: yaml.Node | None = yaml.compose(text, Loader=loader)
        values = 0 if node is None else _count(node, {})
    except RecursionError:
        raise yaml.YAMLError("nested too deeply") from None
    if values > MOST_VALUES:
        raise yaml.YAMLError(f"with its aliases, it holds more than {MOST_VALUES:,} values; write out fewer of them")
    return node


def _count(node: yaml.Node, known: dict[yaml.Node, int]) -> int:
    """Values below ``node``, those of aliases as often as they are named. Raises YAMLError for a node in itself."""
    if node not in known:
        known[node] = -1
        pairs = node.value if isinstance(node, yaml.CollectionNode) else []
        children = [child for pair in pairs for child in (pair if isinstance(pair, tuple) else (pair,))]
        known[node] = 1 + sum(_count(child, known) for child in children)
    if known[node] < 0:
        raise yaml.YAMLError(f"line {node.start_mark.line + 1}: an alias names what it is part of")
    return known[node]
