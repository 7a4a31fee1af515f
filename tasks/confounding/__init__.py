"""Text as confounder: a treatment effect where the symptoms are seen in the notes only (a use that SimSUM names)."""
