"""Forms for people: self-contained HTML pages that are opened from a file and load nothing."""
