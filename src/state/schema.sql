-- Times are milliseconds since the Unix epoch.
-- A representative is a unique document that later ones may still match. An alias is a digest of a duplicate, by which later documents match
-- the duplicate's representative. src/filter/window.rs describes which rows belong to the window and when they leave it.

CREATE TABLE meta (
    name TEXT PRIMARY KEY,
    value ANY
) STRICT, WITHOUT ROWID;

-- How long each output file was when the last batch was committed.
CREATE TABLE files (
    name TEXT PRIMARY KEY,
    size INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- What the output files contained when the last batch was committed.
CREATE TABLE checksums (
    file TEXT NOT NULL,                 -- its name; of the current file of lines, the name that it gets when it is full
    start INTEGER NOT NULL,             -- where the lines or records of a batch begin, in bytes; of a compressed file, before compression
    packed BLOB NOT NULL,               -- for each line or record its length and hash, 4 bytes each, and the hash of its URL, 8 bytes
    PRIMARY KEY (file, start)
) STRICT, WITHOUT ROWID;

-- Documents that were judged, by their numbers: all of a crawl, those in the window of a filter's state.
CREATE TABLE documents (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,                 -- the caller's id; the normal URL in a crawl
    title TEXT,
    at INTEGER NOT NULL,
    stored INTEGER NOT NULL,            -- 1 in pages.jsonl, 0 in duplicates.jsonl, -1 its line is lost by damage
    kind INTEGER NOT NULL,              -- 0 unique, 1 exact, 2 near
    step INTEGER,                       -- 1 body, 2 text, 3 near
    match INTEGER,
    distance INTEGER,
    signature_distance INTEGER,
    fingerprint INTEGER,
    chars INTEGER NOT NULL,
    features INTEGER NOT NULL,
    lang TEXT,
    payload BLOB,                       -- SHA-1 of the body as received, if WARC files are written
    asked INTEGER,                      -- when it was requested, if WARC files are written
    similarity REAL,                    -- to its match, or to the nearest page, by the measure that decided
    thin INTEGER NOT NULL DEFAULT 0,    -- flags: 1 it has hardly any content of its own, 2 it shows none until its scripts run, 4 its content is kept
    digests BLOB,                       -- of body and text, 16 bytes each; NULL if later ones cannot repeat it
    alias INTEGER,                      -- the number among aliases; NULL for a representative
    key INTEGER,                        -- the document's key
    nearest INTEGER,                    -- of a unique page, the most similar one that it was compared with
    origin INTEGER,                     -- of a representative: hash of its host with port
    signature BLOB                      -- the same: 32 bytes, if it takes part in near matching
) STRICT;

-- The texts of near duplicates that are not stored, if texts are written at all.
CREATE TABLE texts (
    document INTEGER PRIMARY KEY,
    same INTEGER,                       -- the document of the same body that has the text, or
    text BLOB,                          -- UTF-8, compressed by zlib
    charset TEXT,                       -- of the page
    truncated TEXT                      -- why the text is not whole
) STRICT;

-- The samples that templates are learnt from: the latest unique pages of each origin.
CREATE TABLE templates (
    origin INTEGER NOT NULL,            -- hash of the host with its port
    document INTEGER NOT NULL,
    key INTEGER NOT NULL,               -- the page's key
    features BLOB NOT NULL,             -- hashes of 4 bytes: of blocks, words of the title, targets of links
    PRIMARY KEY (origin, document)
) STRICT, WITHOUT ROWID;

-- What is kept of the content of the window's pages: a byte for each word, the blocks, the title, where links lead (filter/content.rs).
CREATE TABLE contents (
    document INTEGER PRIMARY KEY,
    content BLOB NOT NULL
) STRICT;

-- The hashes under which these pages are entered in the index of passages, 8 bytes each.
CREATE TABLE keys (
    document INTEGER PRIMARY KEY,
    keys BLOB NOT NULL
) STRICT;

CREATE TABLE hosts (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,          -- name:port
    rank INTEGER NOT NULL,              -- position in the rotation: the lowest is next
    cause TEXT,                         -- why it is suspended, as JSON (`SuspendCause`)
    until INTEGER                       -- before this time nothing is requested from it
) STRICT;

CREATE TABLE robots (
    root_url TEXT PRIMARY KEY,          -- scheme://name:port
    at INTEGER NOT NULL,
    body BLOB NOT NULL
) STRICT, WITHOUT ROWID;

-- Every URL known; their numbers have no gap.
CREATE TABLE urls (
    id INTEGER PRIMARY KEY,
    url TEXT NOT NULL,                  -- in normal form
    host INTEGER NOT NULL,
    kind INTEGER NOT NULL,              -- 0 page, 1 sitemap
    state INTEGER NOT NULL,             -- 0 queued, -1 judged, else why it was skipped
    detail TEXT,
    status INTEGER,
    seed INTEGER,                       -- by its place in the configuration
    depth INTEGER NOT NULL,
    hops INTEGER NOT NULL,              -- redirects that led here
    referrer INTEGER,
    at INTEGER NOT NULL,
    cause INTEGER,                      -- 1 robots.txt was not received; found only on duplicates 2 of the same site, 3 of another one;
                                        -- 4 its host could not be reached, 5 a failure that may pass
    given TEXT,                         -- the spelling to request, if it is not the normal form
    late INTEGER,                       -- it comes after the others of its host: the number of its pattern, or 0 if it waited for another URL
    turn INTEGER                        -- its place among those that wait, if it was queued again (url_index.rs)
) STRICT;
-- Failures that may have passed some hours later. Not `IN (1, 4, 5)`, for which SQLite makes and drops a table at each change of a row.
CREATE INDEX urls_failed ON urls (at) WHERE cause = 1 OR cause > 3;
-- Those that are deferred by a rule or by yield.
CREATE INDEX urls_learnt ON urls (id) WHERE state IN (14, 15);

-- What each page, sitemap and redirect links to: the numbers of the URLs, packed (links.rs).
CREATE TABLE links (
    url INTEGER PRIMARY KEY,
    packed BLOB NOT NULL
) STRICT;

-- What is known of each judged page to ask later whether it has changed (urls.rs).
CREATE TABLE visits (
    url INTEGER PRIMARY KEY,
    document INTEGER NOT NULL,          -- its latest version
    etag TEXT,                          -- as received
    last_modified TEXT,
    text BLOB,                          -- digest of its text; NULL if it was judged by an earlier version
    lost INTEGER,                       -- why there was no page the last time, by the number of the reason; NULL if there was one
    checked INTEGER NOT NULL,           -- when it was received or asked for last
    visits INTEGER NOT NULL,            -- how often it was asked for since it was judged first
    changes INTEGER NOT NULL,           -- how often it had changed then
    span INTEGER NOT NULL               -- milliseconds from the first time to the last
) STRICT;

-- URLs that have no outcome yet because their requests got none that counts.
CREATE TABLE attempts (
    url INTEGER PRIMARY KEY,
    attempts INTEGER NOT NULL,          -- how many requests count
    why TEXT NOT NULL                   -- how the last one ended
) STRICT;

-- Queued URLs that are fewer links from a seed than their rows say, in order: for each the number, 4 bytes, and the depth, 2 bytes (url_index.rs).
CREATE TABLE nearer (
    seq INTEGER PRIMARY KEY,
    packed BLOB NOT NULL
) STRICT;

-- By this seed the index in memory hashes URLs.
INSERT INTO meta VALUES ('url_hash_seed', random());

-- What the run did over time, a point a row (report/series.rs).
CREATE TABLE series (
    number INTEGER PRIMARY KEY,
    point TEXT NOT NULL                 -- JSON
) STRICT;

-- What was learnt of the URLs of a site.
CREATE TABLE learnt (
    site TEXT PRIMARY KEY,
    known BLOB NOT NULL                 -- compressed by zlib (learn/known.rs)
) STRICT, WITHOUT ROWID;

-- What was observed since all that was learnt was kept last, a batch a row, packed (crawl/learnt.rs).
CREATE TABLE observations (
    last INTEGER PRIMARY KEY,           -- the number of the last one
    packed BLOB NOT NULL
) STRICT;

-- Pages of other runs that documents of this one repeat.
CREATE TABLE others (
    id INTEGER PRIMARY KEY,             -- its number among the matches of this run's documents, from 2^62 on
    run TEXT NOT NULL,                  -- as the configuration names it
    document INTEGER NOT NULL,          -- its number there
    url TEXT NOT NULL,
    pages INTEGER NOT NULL,             -- documents of this run that repeat it
    UNIQUE (run, document)
) STRICT;
