"""A stochastic context-free grammar with marked spans, compiled once from YAML rule files.

A rule is a block of lines, one alternative per line; a line may end in `` ::weight``. Syntax within a line:

    {rule}          another rule                       {$name}      a variable of the note
    (x|y::2|)       one of the alternatives            (!x|y)       present or past tense, one choice per note
    {a}             "a" or "an", by the next word      {*2-3 rule or}  several alternatives of a rule as a list
    [c+ ...]        a span: symptom letter, then + (present) or - (absent)
    {S} {s}         the subject at the start of or inside a sentence (patient, they, or omitted)
    report~s den~ies catch~es {has} {is} {was} {does}   agreement with the subject
    ^               start of a span that ends elsewhere (lists of absent symptoms)
"""

import re
from bisect import bisect
from collections.abc import Iterator, Mapping
from itertools import accumulate
from pathlib import Path

from schemas.errors import DomainError
from tasks.simulator.writer.draft import Draft, Mark, Node
from tasks.simulator.writer.grammar_nodes import ENDINGS, SPECIAL, set_mark, variable_of, write_list, written

_WEIGHT = re.compile(r"\s*::([\d.]+)\s*$")


class Grammar:
    """Compiled rules by name; ``grammar[name]`` writes to a `Draft`."""

    def __init__(self, sources: dict[str, str], letters: Mapping[str, str], folder: Path) -> None:
        self.sources, self._letters, self._folder = sources, letters, folder
        self.rules: dict[str, Node] = {}
        self.lists: dict[str, list[Node]] = {}
        self._choices = 0
        self._scope = ""
        for name, block in sources.items():
            self._scope = name.split(".")[0]
            self.rules[name] = self._rule(name, block)

    def __contains__(self, name: str) -> bool:
        return name in self.rules

    def __getitem__(self, name: str) -> Node:
        """Return a rule's node. Raises DomainError naming the folder and the rule if there is none."""
        if name not in self.rules:
            raise DomainError(f"{self._folder}: no rule {name}; add it")
        return self.rules[name]

    def get(self, name: str) -> Node | None:
        """Return a rule's node, or None."""
        return self.rules.get(name)

    def _rule(self, name: str, block: str) -> Node:
        texts = [text.strip() for text in block.splitlines() if text.strip()]
        nodes, weights = self._alternatives(texts)
        self.lists[name] = nodes
        return self._choice(nodes, weights)

    def _alternatives(self, texts: list[str]) -> tuple[list[Node], list[float]]:
        nodes, weights = [], []
        for text in texts:
            weight = _WEIGHT.search(text)
            weights.append(float(weight[1]) if weight else 1.0)
            nodes.append(self._sequence(text[: weight.start()] if weight else text))
        return nodes, weights

    def _choice(self, nodes: list[Node], weights: list[float]) -> Node:
        if len(nodes) == 1:
            return nodes[0]
        sums = list(accumulate(weights))
        total, self._choices = sums[-1], self._choices + 1
        identity = self._choices

        def choose(draft: Draft) -> None:
            index = bisect(sums, draft.random() * total)
            if draft.last.get(identity) == index:  # draw again, so that a note rarely repeats a wording
                index = bisect(sums, draft.random() * total)
            draft.last[identity] = index
            nodes[index](draft)

        return choose

    def _sequence(self, text: str) -> Node:
        nodes = list(self._parse(text))
        if len(nodes) == 1:
            return nodes[0]
        fixed = tuple(nodes)

        def sequence(draft: Draft) -> None:
            for node in fixed:
                node(draft)

        return sequence

    def _parse(self, text: str) -> Iterator[Node]:
        position, literal = 0, ""
        while position < len(text):
            character = text[position]
            if character == "\\":
                literal += text[position + 1]
                position += 2
                continue
            if character in "({[^~":
                if literal:
                    yield written(literal)
                    literal = ""
                if character in "([{":
                    end = _closing(text, position)
                    inner = text[position + 1 : end]
                    yield {"(": self._inline, "[": self._span, "{": self._reference}[character](inner)
                    position = end + 1
                elif character == "^":
                    yield set_mark
                    position += 1
                else:
                    ending = re.match(r"~(ies|es|s)", text[position:])
                    assert ending, f"~ without an ending in {text!r}"
                    yield ENDINGS[ending[1]]
                    position += len(ending[0])
            else:
                literal += character
                position += 1
        if literal or not text:
            yield written(literal)

    def _inline(self, inner: str) -> Node:
        if inner.startswith("!"):
            present, past = (self._sequence(part) for part in _split(inner[1:]))
            return lambda draft: (past if draft.past else present)(draft)
        nodes, weights = self._alternatives(_split(inner))
        return self._choice(nodes, weights)

    def _span(self, inner: str) -> Node:
        if inner[0] not in self._letters:
            plan, known = self._folder / "plan.yaml", ", ".join(self._letters)
            raise DomainError(f"{plan}: key letters: no letter {inner[0]} for [{inner}] in {self._scope}; has {known}")
        symptom, present, body = self._letters[inner[0]], inner[1] == "+", self._sequence(inner[3:])

        def span(draft: Draft) -> None:
            start = draft.length
            body(draft)
            blank = 1 if draft.parts and draft.parts[-1].endswith(" ") else 0
            draft.marks.append(Mark(symptom, present, start, draft.length - blank))

        return span

    def _reference(self, inner: str) -> Node:
        if inner in SPECIAL:
            return SPECIAL[inner]
        if inner.startswith("$"):
            return variable_of(inner[1:])
        if inner.startswith("*"):
            return self._pick(inner[1:])
        rules, name = self.rules, self._resolve(inner)

        def refer(draft: Draft) -> None:
            rules[name](draft)

        return refer

    def _resolve(self, name: str) -> str:
        """Return a rule's full name: as given, or within the current file's top level."""
        for candidate in (name, f"{self._scope}.{name}"):
            if candidate in self.sources:
                return candidate
        raise DomainError(f"{self._folder}: no rule {name}, which {self._scope} uses; add it")

    def _pick(self, inner: str) -> Node:
        numbers, name, word = inner.split(" ")
        low, high = (int(n) for n in numbers.split("-"))
        name = self._resolve(name)

        def pick(draft: Draft) -> None:
            nodes = self.lists[name]
            count = min(len(nodes), draft.rng.randint(low, high))
            write_list(draft, draft.rng.sample(nodes, count), lambda _: word)

        return pick


def _closing(text: str, start: int) -> int:
    pairs, stack, position = {"(": ")", "{": "}", "[": "]"}, [], start
    while position < len(text):
        character = text[position]
        if character == "\\":
            position += 2
            continue
        if character in pairs:
            stack.append(pairs[character])
        elif stack and character == stack[-1]:
            stack.pop()
            if not stack:
                return position
        position += 1
    raise ValueError(f"grammar: unclosed {text[start]} in {text!r}")


def _split(inner: str) -> list[str]:
    parts, depth, current, position = [], 0, "", 0
    while position < len(inner):
        character = inner[position]
        if character == "\\":
            current += inner[position : position + 2]
            position += 2
            continue
        depth += (character in "({[") - (character in ")}]")
        if character == "|" and depth == 0:
            parts.append(current)
            current = ""
        else:
            current += character
        position += 1
    return [*parts, current]
