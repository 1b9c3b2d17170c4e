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
