"""The report card of a judge: cases whose truth is certain, what changes that should not matter do, and comparisons."""
