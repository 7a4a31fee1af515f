"""White space reduction, token counts and levels of notes (EHRNoteQA, Section 3.1)."""

import re
from collections.abc import Callable, Sequence

_PIECE = re.compile(r"[A-Za-z]+|\d{1,3}|[^\sA-Za-z\d]+")
_LETTERS_A_TOKEN = 7.0
"""Letters of a word per token; `estimated_tokens` gives the resulting errors."""


def reduce_whitespace(text: str) -> str:
    """Remove blank lines and white space around line breaks, and reduce runs of white space to one blank."""
    lines = (" ".join(line.split()) for line in text.split("\n"))
    return "\n".join(line for line in lines if line)


def estimated_tokens(text: str) -> int:
    """Estimate the number of tokens of a byte-pair tokenizer without its vocabulary; 0 for an empty text.

    Counts words, groups of up to three digits and runs of other characters, long words several times. Error against
    cl100k: SimSUM's notes +6%, their compact versions -4%, ACI-BENCH's notes -2% and dialogues +4% (50 notes and 40
    encounters).
    """
    pieces = _PIECE.findall(text)
    return sum(1 + int((len(piece) - 1) // _LETTERS_A_TOKEN) if piece[0].isalpha() else 1 for piece in pieces)


def token_counter(name: str) -> Callable[[str], int]:
    """The token counter for ``note_qa.tokenizer``: "estimate" or "tiktoken:<encoding>", else ValueError."""
    if name == "estimate":
        return estimated_tokens
    kind, _, encoding = name.partition(":")
    if kind != "tiktoken" or not encoding:
        raise ValueError(f"note_qa.tokenizer is {name!r}; expected estimate or tiktoken:<encoding>")
    import tiktoken  # imported here because it loads a vocabulary from a file or the network

    encoder = tiktoken.get_encoding(encoding)
    return lambda text: len(encoder.encode(text, disallowed_special=()))


def level(tokens: int, limits: Sequence[int]) -> int:
    """1 for up to ``limits[0]`` tokens, 2 for up to ``limits[1]``, and so on; ``len(limits) + 1`` beyond the last."""
    return 1 + sum(tokens > limit for limit in limits)
