"""Rules that answer questions about a patient's notes, built on `clinical`."""
