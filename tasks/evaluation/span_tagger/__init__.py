"""A span detector trained on notes with spans: BIO tags of words, predicted from a frozen encoder's vectors."""
