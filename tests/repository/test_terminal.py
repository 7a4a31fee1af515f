"""Sentences fit the width of a terminal, and are whole lines where there is none."""

from flows.repository.terminal import fitted


def test_lines_are_broken_between_words_and_further_ones_indented() -> None:
    text = "  one two three\nfour"
    assert fitted(text, None) == text and fitted(text, 15) == text
    assert fitted(text, 11) == "  one two\n    three\nfour"
    assert fitted(text, 11, indent=1) == "  one two\n three\nfour"
    assert fitted("by -0.5 [-0.9, +0.1], p 0.02", 20) == "by -0.5\n  [-0.9, +0.1], p\n  0.02"
    assert fitted("see /a/long-path/that/stays", 10) == "see\n  /a/long-path/that/stays"
