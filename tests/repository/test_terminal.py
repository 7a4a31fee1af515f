"""Tables and sentences fit the width of a terminal, and are whole lines where there is none."""

import re

from flows.repository.terminal import fitted
from flows.runtime.costs import Line, table
from tasks.llm.costs import Estimate

COUNTED = Estimate("judge", 12345, 9876543, 456789)
LINES = [Line(name, COUNTED, 12.5, "from prompts", 1000, 99999, "vignette-judge", True) for name in "abc"]


def numbers(text: str) -> list[str]:
    return re.findall(r"[\d.]+", text)


def test_a_narrow_table_has_the_same_figures_in_two_lines_a_stage() -> None:
    wide, narrow = table(LINES), table(LINES, 80)
    assert max(map(len, wide.splitlines())) > 80 >= max(map(len, narrow.splitlines()))
    assert numbers(wide) == numbers(narrow)
    assert table(LINES, 160) == wide
    columns = {line.rindex("at most") + len("at most") for line in narrow.splitlines() if "at most" in line}
    assert columns == {len(line) for line in narrow.splitlines() if numbers(line)}, "numbers are right-aligned"


def test_lines_are_broken_between_words_and_further_ones_indented() -> None:
    text = "  one two three\nfour"
    assert fitted(text, None) == text and fitted(text, 15) == text
    assert fitted(text, 11) == "  one two\n    three\nfour"
    assert fitted(text, 11, indent=1) == "  one two\n three\nfour"
    assert fitted("by -0.5 [-0.9, +0.1], p 0.02", 20) == "by -0.5\n  [-0.9, +0.1], p\n  0.02"
    assert fitted("see /a/long-path/that/stays", 10) == "see\n  /a/long-path/that/stays"
