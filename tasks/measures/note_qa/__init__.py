"""Question answering over a patient's notes (EHRNoteQA): questions, answers, judging, scores."""
