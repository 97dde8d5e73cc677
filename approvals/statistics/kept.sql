-- What `kept` has the database do. {row} is a row of proposals or of people; the others are filled in by `kept`.

-- parts: what one proposal adds to `approvals_weekcount`, {number} times, of {owner}
SELECT {owner} AS owner, {row}.agent_id AS agent_id, {created_part} AS at, 'proposed' AS part, '' AS what,
    FALSE AS is_reverted, {number} AS number
{source} WHERE {row}.status IN ({asked})
UNION ALL
SELECT {owner}, {row}.agent_id, {always}, 'waiting', '', FALSE, {number}
{source} WHERE {row}.status = 'open'
UNION ALL
SELECT {owner}, {row}.agent_id, {decided_part},
    CASE
        WHEN {row}.status = 'approved' AND {row}.approval IN ('', 'as_proposed') THEN 'as_proposed'
        WHEN {row}.status = 'approved' THEN 'changed'
        WHEN {row}.status = 'applied' THEN 'automatic'
        WHEN {row}.status <> 'rejected' THEN 'unused'
        -- No mistake of its agent's: somebody had written it already.
        WHEN {row}.decision_reason = 'duplicate' AND {row}.mergeability = 'already_applied' THEN 'unused'
        ELSE 'rejected'
    END,
    CASE
        WHEN {row}.status = 'approved' AND {row}.approval = '' THEN 'as_proposed'
        WHEN {row}.status = 'approved' THEN {row}.approval
        WHEN {row}.status <> 'rejected' THEN {row}.status
        WHEN {row}.decision_reason = 'duplicate' AND {row}.mergeability = 'already_applied' THEN 'already_applied'
        ELSE {row}.decision_reason
    END,
    {row}.reverted_by_commit <> '', {number}
{source} WHERE {row}.status IN ({decided}) AND {row}.decided_at IS NOT NULL

-- add: write what {parts} selects
INSERT INTO approvals_weekcount (owner, agent_id, at, part, what, is_reverted, number, is_new)
SELECT owner, agent_id, at, part, what, is_reverted, number, TRUE FROM ({parts}) AS parts;

-- correct: add what is missing of all parts, and take away what is too much; one statement, so of one moment
INSERT INTO approvals_weekcount (owner, agent_id, at, part, what, is_reverted, number, is_new)
SELECT owner, agent_id, at, part, what, is_reverted, SUM(number), FALSE
FROM (
    {parts}
    UNION ALL
    SELECT owner, agent_id, at, part, what, is_reverted, -number FROM approvals_weekcount
) AS parts
WHERE at >= {oldest}
GROUP BY owner, agent_id, at, part, what, is_reverted
HAVING SUM(number) <> 0

-- count: make rows of the board anew from what they count
UPDATE approvals_ownercounts SET
    counted_at = {now},
    waiting = (SELECT COUNT(*) FROM approvals_proposal p WHERE p.owner = approvals_ownercounts.owner AND p.status = 'open'),
    oldest_at = (
        SELECT MIN(p.created_at) FROM approvals_proposal p
        WHERE p.owner = approvals_ownercounts.owner AND p.status = 'open'
    ),
    approved = (
        SELECT COUNT(*) FROM approvals_proposal p
        WHERE p.owner = approvals_ownercounts.owner AND p.status = 'approved' AND p.decided_at >= {recently}
    ),
    rejected = (
        SELECT COUNT(*) FROM approvals_proposal p
        WHERE p.owner = approvals_ownercounts.owner AND p.status = 'rejected' AND p.decided_at >= {recently}
    ),
    automatic = (
        SELECT COUNT(*) FROM approvals_proposal p
        WHERE p.owner = approvals_ownercounts.owner AND p.status = 'applied' AND p.decided_at >= {recently}
    ),
    proposed = (
        SELECT COUNT(*) FROM approvals_proposal p
        WHERE p.owner = approvals_ownercounts.owner AND p.status IN ({asked}) AND p.created_at >= {first_week}
    ),
    changed_at = (SELECT MAX(c.at) FROM memory_app_change c WHERE c.owner = approvals_ownercounts.owner)

-- people: a row of the board for each person who has none
INSERT INTO approvals_ownercounts (owner, name, counted_at)
SELECT {row}.username, {name}, {never} FROM approvals_user {row} WHERE TRUE ON CONFLICT (owner) DO NOTHING

-- person: the row of one who is new
INSERT INTO approvals_ownercounts (owner, name, counted_at) VALUES ({row}.username, {name}, {never});

-- name: what orders people
UPDATE approvals_ownercounts SET name = {name} WHERE owner = {row}.username;

-- change: when an owner's memory last changed
UPDATE approvals_ownercounts SET changed_at = NEW.at
WHERE owner = NEW.owner AND (changed_at IS NULL OR changed_at < NEW.at);
