-- From version 7 to 8. URLs can be deferred by what was learnt.
CREATE INDEX urls_learnt ON urls (id) WHERE state IN (14, 15);
