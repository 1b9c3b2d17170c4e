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

-- Of the documents that hold most of these keys, the records of those that were not compared yet. Neither the document itself counts, nor what its session
-- has claimed: its own window has that.
CREATE FUNCTION holders_$N(its_keys bigint[], its_id bigint, its_session int, compared bigint[])
RETURNS TABLE (id bigint, url text, sketch bytea, marks bytea) LANGUAGE sql STABLE AS $$
    SELECT id, url, sketch, marks FROM (SELECT * FROM ($HOLDERS) h ORDER BY shared DESC, id LIMIT $MOST) most
    WHERE id <> ALL(compared)
$$;

-- Claims a document. True: it is claimed. False: others hold keys of it with which it has not been compared. NULL: there is another generation, or a
-- crash of the server has emptied the keys.
CREATE PROCEDURE claim_$N(
    INOUT is_claimed boolean, its_keys bigint[], its_id bigint, its_session int, compared bigint[], its_url text, its_sketch bytea, its_marks bytea
) LANGUAGE plpgsql AS $$
DECLARE
    inserted int;
BEGIN
    -- Whoever has the lock is in the generation that the statements after it see.
    PERFORM pg_advisory_xact_lock_shared($LOCK);
    INSERT INTO key_$N SELECT unnest(its_keys), its_id, its_session ON CONFLICT DO NOTHING;
    GET DIAGNOSTICS inserted = ROW_COUNT;
    is_claimed := NOT (($N > 1 OR inserted < cardinality(its_keys))
        AND EXISTS (SELECT FROM holders_$N(its_keys, its_id, its_session, compared)));
    IF is_claimed THEN
        INSERT INTO record_$N (id, session, url, keys, sketch, marks)
            SELECT its_id, its_session, its_url, its_keys, its_sketch, its_marks FROM ready WHERE generation = $N
            ON CONFLICT (id) DO UPDATE SET session = its_session, url = its_url, keys = its_keys, sketch = its_sketch, marks = its_marks;
        IF FOUND THEN
            RETURN;
        END IF;
        is_claimed := NULL;
    END IF;
    ROLLBACK;
END $$;
