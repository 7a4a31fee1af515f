"""Forms for people, their readers and agreement: self-contained pages that load nothing."""
