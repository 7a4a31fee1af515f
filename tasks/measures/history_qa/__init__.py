"""Questions about a patient's visits over time, whose answers follow from the record without a judge."""
