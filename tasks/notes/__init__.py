"""From record to prompt, note, filtered note and compact note. Imports tasks.llm, tasks.text and schemas."""
