-- From version 5 to 6. Pages judged before have no sketch: they are compared by their texts.
ALTER TABLE documents ADD COLUMN shared INTEGER;
ALTER TABLE documents ADD COLUMN thin INTEGER NOT NULL DEFAULT 0;
ALTER TABLE templates ADD COLUMN name INTEGER;
CREATE TABLE articles (document INTEGER PRIMARY KEY, sketch BLOB NOT NULL) STRICT;
CREATE TABLE keys (document INTEGER PRIMARY KEY, keys BLOB NOT NULL) STRICT;
