-- From version 8 to 9. Pages can be revisited. What their servers gave to ask for changes, and the digests of their texts, are not known.
CREATE TABLE visits (
    url INTEGER PRIMARY KEY,
    document INTEGER NOT NULL,
    etag TEXT,
    last_modified TEXT,
    text BLOB,
    lost INTEGER,
    checked INTEGER NOT NULL,
    visits INTEGER NOT NULL,
    changes INTEGER NOT NULL,
    span INTEGER NOT NULL
) STRICT;
INSERT INTO visits
    SELECT u.id, max(d.id), NULL, NULL, NULL, NULL, d.at, 0, 0, 0
    FROM documents d JOIN urls u ON u.url = d.name WHERE u.state = -1 GROUP BY u.id;
