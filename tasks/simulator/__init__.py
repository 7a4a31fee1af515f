"""The endpoint that ships: an OpenAI-compatible server whose models are rules, and say so.

Imports nothing of the project but `tasks.text`, `tasks.encoder`, and from `tasks.llm` nothing outside this package: it
reads prompts as any model would, text in, text out. `writer`, `annotator`, `judge` and `answerer` are its models; the
last three never import the first.
"""
