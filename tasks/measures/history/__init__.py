"""What survives of patients over several visits in summaries of their notes: the writer, truth, doses, metrics."""
