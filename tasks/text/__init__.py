"""Reading notes as text: sections, sentences, words. A leaf package: imports nothing of the project."""
