"""Write one sentence in shorthand: replace known phrases, drop function words, shorten conjunctions."""

import random

from tasks.simulator.writer.shorthand_tables import NUMBERS, SIDES, UNITS, Tables, Token, is_side

_NO_SPACE_BEFORE = frozenset(",.;:)%?!/")
_JOINED = frozenset("/(")
_CAPITALISED = frozenset(
    [
        "Denies",
        "No",
        "Reports",
        "Notes",
        "Also",
        "Assoc.",
        "Says",
        "States",
        "Not",
        "Hx",
        "H/o",
        "Long",
        "Known",
        "Past",
        "Worse",
    ]
)
_REPORTED = frozenset(["notes", "reports", "states", "says", "until now", "so far"])
_CLAUSE_OPENERS = frozenset(
    [
        "patient",
        "they",
        "there",
        "no",
        "it",
        "he",
        "she",
        "this",
        "these",
        "nothing",
        "in",
        "at",
        "so",
        "has",
        "is",
        "are",
    ]
)
_ITEM_ENDS = frozenset(".,;:")
_AND = (("and",) * 7 + ("&",), 1.0)  # spellings of "and"

Out = tuple[str, int, int, bool]  # text, source start, source end, whether written without a space before it


def punctuate(written: list[Out]) -> None:
    """Drop punctuation without words: leading commas, doubled commas, a colon after a colon."""
    index = 0
    while index < len(written):
        text = written[index][0]
        before = written[index - 1][0] if index else ""
        if (
            (text in ",;" and (not before or before[-1] in ",;:" or before in ("Also", "-")))
            or (text == ":" and (not before or before[-1] in ":;,"))
            or (text == "." and before.endswith("."))
        ):
            del written[index]
        elif text in ".;," and before in (",", ";", ":", "&", "or", "and", "w/", "with"):
            del written[index - 1]
            index -= 1
        else:
            index += 1
    while written and written[-1][0] in (",", ";", ":", "&", "or", "and", "w/", "with", "but"):
        written.pop()


class ShorthandSentence:
    """A sentence being rewritten in shorthand."""

    def __init__(self, rng: random.Random, table: Tables, known: dict[int, str | None]) -> None:
        self.random, self.rng, self.table, self.known = rng.random, rng, table, known
        self.out: list[Out] = []

    def write(self, words: list[Token]) -> list[Out]:
        """Return the words in shorthand."""
        index = 0
        while index < len(words):
            plain = words[index].key in SIDES and not is_side(words, index)
            step = (0 if plain else self._phrase(words, index)) or self._word(words, index)
            index += step
        return self.out

    def _phrase(self, words: list[Token], index: int) -> int:
        """Replace the longest known phrase that starts here; return its number of words, 0 if there is none."""
        node, length, shown = self.table.tree, 0, ""
        number = unit = ""
        found_number = found_unit = ""
        for offset in range(index, min(index + 10, len(words))):
            word = words[offset]
            key = word.key
            following = node.get(key)
            if following is None and (key in NUMBERS or key[0].isdigit()):
                following, number = node.get("#"), NUMBERS.get(key, word.text)
            elif following is None and key in UNITS and (number or not key.endswith("s")):
                following, unit = node.get("@"), UNITS[key]
            if following is None:
                break
            node = following
            if None in node:
                form = self._form(node[None])
                if form is not None:
                    length, shown = offset - index + 1, form
                    found_number, found_unit = number, unit
        if not length:
            return 0
        start, end = words[index].start, words[index + length - 1].end
        if "#" in shown or "@" in shown:
            shown = shown.replace("#", found_number).replace("@", found_unit)
            if not self.out and shown.startswith("x "):
                shown = f"Past {shown[2:]}"
        if shown:
            glued = bool(self.out) and (shown[0] in _NO_SPACE_BEFORE or self.out[-1][0] in _JOINED)
            if shown.lower() == "denies" and self.out and self.out[-1][0].lower() in _REPORTED:
                shown = "no"
            if self.out and self.out[-1][0] != "." and shown.split(" ")[0] in _CAPITALISED:
                shown = shown[0].lower() + shown[1:]
            self.out.append((shown, start, end, glued))
        return length

    def _form(self, entry: tuple[tuple[str, ...], float]) -> str | None:
        """Return the form of a term: drawn once per note, so that a note abbreviates a term consistently."""
        identity = id(entry)
        if identity not in self.known:
            forms, chance = entry
            self.known[identity] = forms[int(self.random() * len(forms))] if self.random() < chance else None
        return self.known[identity]

    def _word(self, words: list[Token], index: int) -> int:
        word = words[index]
        key, text = word.key, word.text
        before = self.out[-1][0] if self.out else ""
        if key in self.table.drop or (key in self.table.verbs and self.random() < 0.93):
            return 1
        if key in ("patient", "they"):
            if key == "they" or self.random() < (0.55 if not self.out else 0.4 if before in (",", ";", "and") else 0):
                return 1
            text = "Pt" if not self.out else "pt"
        elif key == "patient's":
            text = "Pt's"
        elif key in NUMBERS:
            text = NUMBERS[key]
        elif key in ("and", "or") and self.out:
            return self._conjunction(words, index, before)
        elif key == "," and index + 1 < len(words) and words[index + 1].key in ("and", "or") and self.random() < 0.75:
            return 1
        glued = bool(self.out) and (text[0] in _NO_SPACE_BEFORE or before in _JOINED or text.startswith("°"))
        self.out.append((text, word.start, word.end, glued))
        return 1

    def _and(self) -> str:
        return self._form(_AND) or "and"

    def _conjunction(self, words: list[Token], index: int, before: str) -> int:
        """Write a slash or comma between short items, a semicolon between clauses."""
        word, draw = words[index], self.random()
        clause = index + 1 < len(words) and words[index + 1].key in _CLAUSE_OPENERS
        item = next((n for n, token in enumerate(words[index + 1 : index + 5]) if token.key in _ITEM_ENDS), 4)
        if clause:
            shown, glued = (";", True) if draw < 0.6 and before not in (",", ";") else (self._and(), False)
        elif before in (",", ";") or item > 3 or draw > 0.55:
            shown, glued = (self._and() if word.key == "and" else "or"), False
        else:
            shown, glued = ("/" if draw < 0.45 else ","), True
        self.out.append((shown, word.start, word.end, glued))
        return 1
