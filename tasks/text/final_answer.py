"""The letter of a multiple-choice answer, read from the last line that states it."""

import re

_FINAL = re.compile(r"^[^\w\n]*(?:final\s+)?answer[^\w\n]*:(.*)$", re.IGNORECASE | re.MULTILINE)
_LETTER = re.compile(
    r"[^\w\n]*(?:boxed[^\w\n]*)?(?:text[^\w\n]*)?([A-E])(?![\w'’]|\s+[a-z]|(?<=A)\s+\w|\s*[,/&]\s*[A-E]\b)"
)
"""The only letter, and no word: of ``B: both``, ``**B**``, ``(B)``, ``\\boxed{B}``, but not of ``A CT scan``."""


def final_letter(reply: str) -> str | None:
    """The letter A to E in the last line of the form ``Answer: LETTER`` or ``Answer: LETTER: TEXT``, or None.

    Text before the line may be reasoning, and may name other letters. Markup around the line and its letter is skipped.
    """
    lines = _FINAL.findall(reply)
    found = _LETTER.match(lines[-1]) if lines else None
    return found[1] if found else None
