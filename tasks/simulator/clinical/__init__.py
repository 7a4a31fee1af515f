"""Clinical language kernel of the reading models: lexicon, negation, temperatures, abbreviations, age and sex.

Shared by annotator, judge and answerer; independent of the writer's grammar and word lists. Imports only `tasks.text`.
"""
