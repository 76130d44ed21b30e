-- Purpose: replace what may change about a job
-- Inputs: ?1 id, ?2 version, ?3 state, ?4 since, ?5 wake_at, ?6 attempt, ?7 worker, ?8 secret, ?9 cancelling, ?10 mail_sent,
--   ?11 mail_applied, ?12 rest, ?13 its turn if it has come into its queue, or NULL
-- Result: one row changed
-- Atomicity: one statement of the writer's transaction
UPDATE job
SET version = ?2, state = ?3, since = ?4, wake_at = ?5, attempt = ?6, worker = ?7, secret = ?8, cancelling = ?9,
    mail_sent = ?10, mail_applied = ?11, rest = ?12, aside = aside AND ?3 = 'queued',
    turn = coalesce(?13, turn)
WHERE id = ?1;
