"""Sample indices: what makes two requests with the same prompt two requests.

Two records may have the same prompt, and each shall have its own note; so the index holds the record. A record's
attempts, and the tries of an attempt whose reply had no note in it, count on from there.
"""

MAX_ATTEMPTS = 8
MAX_TRIES = 8


def sample_index(record: int, attempt: int = 0, attempt_try: int = 0) -> int:
    """The index of a record's ``attempt_try``-th reply to its ``attempt``-th note; no two are equal."""
    if not (0 <= attempt < MAX_ATTEMPTS and 0 <= attempt_try < MAX_TRIES):
        raise ValueError(f"attempt {attempt}, try {attempt_try}: at most {MAX_ATTEMPTS} and {MAX_TRIES} have an index")
    return (record * MAX_ATTEMPTS + attempt) * MAX_TRIES + attempt_try
