-- From version 4 to 5.

ALTER TABLE urls ADD COLUMN cause INTEGER;
UPDATE urls SET cause = 1 WHERE state = 1 AND detail LIKE 'robots.txt could not be had: %';
UPDATE urls SET cause = 2, detail = NULL WHERE state = 10 AND detail = 'found on duplicates of pages of their own site';
UPDATE urls SET cause = 3, detail = NULL WHERE state = 10 AND detail = 'found on duplicates of other sites'' pages';

ALTER TABLE templates RENAME COLUMN site TO origin;

ALTER TABLE hosts RENAME COLUMN turn TO rank;
ALTER TABLE hosts RENAME COLUMN aside TO cause;
ALTER TABLE hosts RENAME COLUMN asked TO requested;
DROP INDEX hosts_by_turn;
CREATE INDEX hosts_by_rank ON hosts (rank);

-- An option that was removed.
UPDATE meta SET value = json_remove(value, '$.window.refresh') WHERE name = 'dedup';
