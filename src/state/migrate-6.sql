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
