"""Answers questions on a patient's notes by rule, from what the clinical kernel reads in them."""
