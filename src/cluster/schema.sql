-- One schema for each window that is shared, or crawl.

-- One row: what all who share it must agree on.
CREATE TABLE run (
    layout int NOT NULL,                -- the version of these tables
    scheme text NOT NULL,               -- how texts are fingerprinted, and the seed of the hashes
    hash_seed bigint NOT NULL,
    configuration text NOT NULL,        -- a digest of what else must be equal
    members int NOT NULL,               -- 0 if no crawl shares it
    entries bigint NOT NULL,            -- a generation ends when it has so many records, or at this age
    age bigint,                         -- in seconds
    generation int NOT NULL,            -- the present one; the one before it is still searched
    began timestamptz NOT NULL DEFAULT now(),
    turned timestamptz NOT NULL DEFAULT now(), -- when the generation began
    pages bigint NOT NULL DEFAULT 0,    -- the budget of the run, and what of it no member has taken yet
    remaining bigint NOT NULL DEFAULT 0,
    is_over boolean NOT NULL DEFAULT false
);

-- Empty after a crash of the server, and so are the keys.
CREATE UNLOGGED TABLE ready (generation int NOT NULL);

-- Whoever opens the window gets a number, at every start.
CREATE SEQUENCE session AS int;

CREATE TABLE member (
    member int PRIMARY KEY,
    state text,                         -- identifies its run directory
    epoch int NOT NULL DEFAULT 0,       -- how often it was started
    sessions int[] NOT NULL DEFAULT '{}',
    is_idle boolean NOT NULL DEFAULT false,
    sent bigint NOT NULL DEFAULT 0,     -- batches of links
    received bigint NOT NULL DEFAULT 0,
    granted bigint NOT NULL DEFAULT 0,  -- pages of the budget
    report text                         -- JSON
);

-- Links to sites of other members, until these have committed them.
CREATE TABLE link (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    receiver int NOT NULL,
    links bytea NOT NULL
);
CREATE INDEX ON link (receiver, id);
