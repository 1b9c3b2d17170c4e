-- From version 9 to 10. What was learnt of sites is kept; what is not yet there is learnt again from the last pages. Pages can repeat
-- those of other runs.
CREATE TABLE learnt (
    site TEXT PRIMARY KEY,              -- empty for what is known of all sites together
    known BLOB NOT NULL                 -- JSON, compressed by zlib (learn/known.rs)
) STRICT, WITHOUT ROWID;
CREATE TABLE others (
    id INTEGER PRIMARY KEY,             -- its number among the matches of this run's documents, from 2^62 on
    run TEXT NOT NULL,                  -- as the configuration names it
    document INTEGER NOT NULL,          -- its number there
    url TEXT NOT NULL,
    pages INTEGER NOT NULL,             -- documents of this run that repeat it
    UNIQUE (run, document)
) STRICT;
