"""The simulator: an OpenAI-compatible application that ships with the project and answers by rule.

Belongs here: the application, its port, and its rules: the `writer`, and the `reader`, which are the models annotator,
judge and answerer. They read prompts as any model would, as text. The reader never
imports the writer or `truth`.

May import `tasks.text`, `tasks.domains` and, for the differential diagnosis, `tasks.network`. May be imported by the
cases of measures, which know the truth of written notes, the evaluator without a model, the identity hash in
`tasks.transport`, and what asks the application.
"""
