"""The simulator: an OpenAI-compatible application that ships with the project and answers by rule.

Belongs here: the application, its port and fault injection for tests, and the rule-based models `writer`, `annotator`,
`judge` and `answerer`, which share the reading kernel `clinical`. They read prompts as any model would, as text.
`annotator`, `judge` and `answerer` never import `writer` or `truth`.

May import `tasks.text` and `tasks.encoder`, nothing else of the project. May be imported by calibration, planted
errors, the simulator-quality tables, its evaluator (`judge.entailment`), the identity hash in `tasks.llm`, and
the engine modules that ask the application and compute the simulated truth.
"""
