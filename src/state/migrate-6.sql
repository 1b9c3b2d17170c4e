-- From version 6 to 7. The next start adds the checksums of the files that are there.
CREATE TABLE checksums (
    file TEXT NOT NULL, start INTEGER NOT NULL, length INTEGER NOT NULL, hashes BLOB NOT NULL, PRIMARY KEY (file, start)
) STRICT, WITHOUT ROWID;
