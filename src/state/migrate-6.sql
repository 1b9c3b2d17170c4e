-- From version 6 to 7. The indexes of URLs and digests and the queue become logs, which the program writes (url_log.rs, digests.rs).
DROP INDEX hosts_by_rank;
DROP INDEX urls_by_key;
ALTER TABLE urls DROP COLUMN key;
CREATE INDEX urls_failed ON urls (at) WHERE cause IN (1, 4, 5);
CREATE TABLE url_log (seq INTEGER PRIMARY KEY, packed BLOB NOT NULL) STRICT;
INSERT INTO meta VALUES ('url_hash_seed', random());
ALTER TABLE documents ADD COLUMN digests BLOB;
ALTER TABLE documents ADD COLUMN alias INTEGER;
ALTER TABLE documents ADD COLUMN key INTEGER;
ALTER TABLE digests RENAME TO digests_6;
CREATE TABLE digests (last INTEGER PRIMARY KEY, packed BLOB NOT NULL) STRICT;

CREATE TABLE host_counts (
    name TEXT PRIMARY KEY,
    fetched INTEGER NOT NULL,
    unique_pages INTEGER NOT NULL,
    same_site INTEGER NOT NULL,
    cross_site INTEGER NOT NULL,
    other_host INTEGER NOT NULL,
    failed INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE clusters (
    document INTEGER PRIMARY KEY,
    count INTEGER NOT NULL,
    near INTEGER NOT NULL,
    lang TEXT,
    members TEXT NOT NULL
) STRICT;
CREATE INDEX clusters_by_size ON clusters (near > 0, lang, count DESC);
CREATE TABLE unreachable_seeds (
    url INTEGER PRIMARY KEY
) STRICT;

-- The next start adds the checksums of the files that are there.
CREATE TABLE checksums (
    file TEXT NOT NULL, start INTEGER NOT NULL, length INTEGER NOT NULL, hashes BLOB NOT NULL, PRIMARY KEY (file, start)
) STRICT, WITHOUT ROWID;
