"""English or not (the simulator's rules cannot read other languages), and capital letters."""

import re
from collections.abc import Iterable

FUNCTION_WORDS = {
    "English": "the and of is has have with for not she to since from are this it had which his denies reports takes",
    "German": "der das und ist nicht kein keine mit seit bei wird wurde auf eine einen ich sie auch von zu",
    "French": "le la les une est pas avec depuis dans pour sans du et il elle aux qui au je vous",
    "Spanish": "el los las una con desde sin por para del que su hace lo más tiene refiere",
    "Italian": "il gli una non con da senza del della che di sono nel alla più anche",
    "Portuguese": "os uma não com desde sem por para da que em há na seu mais foi",
    "Dutch": "het een niet geen met sinds bij voor ook wordt heeft zijn naar ik en de",
}
"""The most frequent function words of a language, as they occur in clinical text."""
FEWEST = 3
"""Function words of a language below which nothing is said about a text."""
_WORDS = {language: frozenset(words.split()) for language, words in FUNCTION_WORDS.items()}
_LATIN = re.compile(r"[A-Za-zÀ-ɏ]")


def capitalized(text: str) -> str:
    """``text`` with a capital first letter; unlike `str.capitalize`, later ones are kept, as in ``CT scan``."""
    return text[:1].upper() + text[1:]


def foreign_language(text: str) -> str | None:
    """The language of ``text`` if it is recognised as another than English.

    Counts function words (Grefenstette 1995, the small-word technique); a text mostly in another script is named so.
    """
    letters = [character for character in text if character.isalpha()]
    if letters and sum(_LATIN.match(letter) is not None for letter in letters) < len(letters) / 2:
        return "another script"
    tokens = re.findall(r"[^\W\d_]+", text.lower())
    counts = {language: sum(token in words for token in tokens) for language, words in _WORDS.items()}
    best = max(counts, key=lambda language: counts[language])
    return best if counts[best] >= FEWEST and counts[best] > 2 * counts["English"] else None


def foreign_texts(texts: Iterable[tuple[str, str]]) -> dict[str, str]:
    """The language of each (id, text) that is not English, by id."""
    found = ((name, foreign_language(text)) for name, text in texts)
    return {name: language for name, language in found if language is not None}
