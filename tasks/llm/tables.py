"""The tables of the response store, with sqlite's types."""

TABLES = """
CREATE TABLE IF NOT EXISTS responses (
    id INTEGER PRIMARY KEY,
    key BLOB NOT NULL UNIQUE,        -- hash of role identity, request and sample index
    identity TEXT NOT NULL,          -- identity and epoch of the role that answered
    role TEXT NOT NULL,
    stage TEXT NOT NULL,
    task TEXT NOT NULL,
    model TEXT NOT NULL,             -- as the reply names it
    request BLOB NOT NULL,           -- zlib
    reply BLOB NOT NULL,             -- zlib
    prompt_tokens INTEGER NOT NULL,
    completion_tokens INTEGER NOT NULL,
    dollars REAL NOT NULL,
    created TEXT NOT NULL,           -- UTC
    sample INTEGER,                  -- the request's sample index
    cached_tokens INTEGER NOT NULL DEFAULT 0,   -- of prompt_tokens, those that the endpoint had cached
    estimated INTEGER NOT NULL DEFAULT 0        -- 1: the reply gave no usage, the tokens are an estimate
);
CREATE TABLE IF NOT EXISTS ledgers (
    name TEXT PRIMARY KEY,
    dollars REAL NOT NULL,
    tokens INTEGER NOT NULL,
    calls INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS reservations (
    key BLOB PRIMARY KEY,            -- a request that is under way
    ledger TEXT NOT NULL,
    dollars REAL NOT NULL,           -- the most that it can cost
    tokens INTEGER NOT NULL,
    pid INTEGER NOT NULL,
    born REAL NOT NULL,              -- when that process started: pids are reused
    in_batch INTEGER NOT NULL,       -- 1: under way in a batch, whatever becomes of the process
    host TEXT NOT NULL DEFAULT ''    -- where that process runs
);
CREATE TABLE IF NOT EXISTS batches (
    token TEXT PRIMARY KEY,          -- ours, sent along as metadata, known before the endpoint's id is
    address TEXT NOT NULL,
    identity TEXT NOT NULL,
    stage TEXT NOT NULL,
    batch_id TEXT,
    keys BLOB NOT NULL               -- the requests' keys, 32 bytes each
);
CREATE TABLE IF NOT EXISTS fingerprints (
    role TEXT NOT NULL,
    identity TEXT NOT NULL,
    epoch INTEGER NOT NULL,
    content TEXT NOT NULL,           -- the file in fingerprints/
    PRIMARY KEY (role, identity, epoch)
);
CREATE TABLE IF NOT EXISTS imported (
    identity TEXT PRIMARY KEY        -- of replies that came from another store; until it is probed from here
);
CREATE TABLE IF NOT EXISTS rates (
    name TEXT PRIMARY KEY,           -- endpoint and what is limited
    free_at REAL NOT NULL            -- when the next unit may be used, in seconds since 1970
);
CREATE TABLE IF NOT EXISTS processes (
    host TEXT NOT NULL,
    pid INTEGER NOT NULL,
    born REAL NOT NULL,
    seen REAL NOT NULL,              -- when it last used the store, in seconds since 1970
    PRIMARY KEY (host, pid, born)
);
"""
