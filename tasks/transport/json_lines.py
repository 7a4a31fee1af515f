"""Reads JSON Lines that others made, a line at a time: neither a long line nor a packed one fills the memory."""

import gzip
import zlib
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

from schemas.errors import SourceError
from tasks.transport.untrusted import parse_json

LONGEST = 32_000_000
"""Most bytes of a line, unpacked: twice those of the longest reply."""


def json_lines(file: Path) -> Iterator[tuple[int, Any]]:
    """The number and the value of each line that is not blank; a file ``.gz`` is unpacked.

    Raises SourceError naming the line for a file that cannot be read or unpacked, and for a line that is not UTF-8, is
    no JSON, or is longer than `LONGEST` bytes.
    """
    place = str(file)
    try:
        with gzip.open(file) if file.suffix == ".gz" else file.open("rb") as lines:
            for number in count(1):
                place = f"{file}: line {number}"
                line = lines.readline(LONGEST + 1)
                if not line:
                    return
                if len(line) > LONGEST:
                    raise SourceError(f"{place}: longer than {LONGEST:,} bytes; expected one object on each line")
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
