"""How many notes, questions, takes and raters a study needs, and what they cost: planned from variance components."""
