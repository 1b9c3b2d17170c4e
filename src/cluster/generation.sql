-- The tables of generation $N. Keys are those of the records of the same generation; of several holders the first one has a key.
CREATE UNLOGGED TABLE key_$N (key bigint PRIMARY KEY, holder bigint NOT NULL, session int NOT NULL);
CREATE TABLE record_$N (
    id bigint PRIMARY KEY,              -- the key of the document: a hash of its URL
    number bigint GENERATED ALWAYS AS IDENTITY,
    session int NOT NULL,               -- of whoever claimed it
    url text NOT NULL,
    keys bigint[] NOT NULL,
    sketch bytea NOT NULL,
    marks bytea NOT NULL                -- how common its parts were on its site
) WITH (toast_tuple_target = 4080);
ALTER TABLE record_$N ALTER COLUMN sketch SET STORAGE EXTERNAL, ALTER COLUMN marks SET STORAGE EXTERNAL;
