"""Is the judge still as good as it was? An alarm that may be looked at after every round, for ever."""
