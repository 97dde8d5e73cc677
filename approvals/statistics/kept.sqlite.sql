-- What `kept.sql` and `kept` say in another way on SQLite.

-- seconds: of a time since 1970
CAST(strftime('%s', substr({0}, 1, 19)) AS INTEGER)

-- moment: of so many seconds
strftime('%Y-%m-%d %H:%M:%S', {0}, 'unixepoch')

-- now: when this is run
strftime('%Y-%m-%d %H:%M:%f', 'now')

-- recently: seven days before
strftime('%Y-%m-%d %H:%M:%f', 'now', '-7 days')

-- first_week: when the first of twelve weeks began, in UTC
strftime('%Y-%m-%d %H:%M:%S', 'now', 'start of day', '-6 days', 'weekday 1', '-77 days')

-- oldest: what no page shows any more
strftime('%Y-%m-%d %H:%M:%S', 'now', '-98 days')

-- bytes: of a text
CAST({0} AS BLOB)

-- differs: also from NULL
IS NOT

-- triggers: the names of those that there are
SELECT name FROM sqlite_master WHERE type = 'trigger'

-- trigger: what is done after each row that is written
CREATE TRIGGER {trigger} AFTER {event} FOR EACH ROW WHEN ({condition}) BEGIN {what} END

-- alone: as there is one writer
{what}
