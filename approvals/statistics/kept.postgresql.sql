-- What `kept.sql` and `kept` say in another way on PostgreSQL.

-- seconds: of a time since 1970
floor(extract(epoch FROM {0}))::bigint

-- moment: of so many seconds
to_timestamp({0})

-- now: when this is run
clock_timestamp()

-- recently: seven days before
clock_timestamp() - interval '7 days'

-- first_week: when the first of twelve weeks began, in UTC
date_trunc('week', clock_timestamp(), 'UTC') - interval '77 days'

-- oldest: what no page shows any more
now() - interval '98 days'

-- bytes: of a text
convert_to({0}, 'UTF8')

-- differs: also from NULL
IS DISTINCT FROM

-- triggers: the names of those that there are
SELECT tgname FROM pg_trigger

-- trigger: what is done after each row that is written
CREATE OR REPLACE FUNCTION {trigger}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {what} RETURN NULL; END $$;
CREATE TRIGGER {trigger} AFTER {event} FOR EACH ROW WHEN ({condition}) EXECUTE FUNCTION {trigger}()

-- alone: where no other transaction is at it: nobody waits, and `kept.keep` does it within a minute
PERFORM 1 FROM approvals_ownercounts WHERE owner = {row}.owner FOR UPDATE SKIP LOCKED;
IF FOUND THEN {what} END IF;
