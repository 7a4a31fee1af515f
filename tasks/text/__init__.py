"""Reading notes as text: sections, sentences, words. A leaf: imports nothing of the project."""
