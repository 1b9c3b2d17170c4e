-- What `pagesieve cluster status` prints. $1: the number of the schema among locks; $2: the first lock of a member.
SELECT json_build_object(
    'schema', current_schema(),
    'is_over', is_over,
    'pages_left', remaining,                                                    -- of the budget, that no member has taken
    'links_open', (SELECT count(*) FROM link),                                  -- batches
    'waiting', (SELECT count(*) FROM pg_stat_activity WHERE application_name = 'pagesieve' AND wait_event_type = 'Lock'),
    'generations', (
        SELECT json_agg(json_build_object(
            'generation', number,
            'records', coalesce(pg_sequence_last_value(format('record_%s_number_seq', number)::regclass), 0),
            'bytes_of_keys', pg_total_relation_size(format('key_%s', number)::regclass),
            'bytes_of_records', pg_total_relation_size(format('record_%s', number)::regclass)
        ) ORDER BY number DESC)
        FROM generate_series(greatest(generation - 1, 1), generation) number
    ),
    'members', (
        SELECT coalesce(json_agg(json_build_object(
            'member', member,
            'is_running', EXISTS (
                SELECT FROM pg_locks JOIN pg_database ON pg_database.oid = database AND datname = current_database()
                WHERE locktype = 'advisory' AND granted AND classid::bigint = $1::int AND objid::bigint = member + $2::int
            ),
            'is_taken', state IS NOT NULL,                                      -- by a run directory
            'is_idle', is_idle,
            'starts', epoch,
            'batches_sent', sent,
            'batches_received', received,
            'report', report::json
        ) ORDER BY member), '[]')
        FROM member
    )
)::text FROM run
