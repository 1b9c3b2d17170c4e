-- From version 9 to 10. What was learnt of sites is kept; what is not yet there is learnt again from the last pages.
CREATE TABLE learnt (
    site TEXT PRIMARY KEY,              -- empty for what is known of all sites together
    known BLOB NOT NULL                 -- JSON, compressed by zlib (learn/known.rs)
) STRICT, WITHOUT ROWID;
