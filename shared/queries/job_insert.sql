-- Purpose: record a new job
-- Inputs: ?1 id, ?2 run, ?3 version, ?4 state, ?5 since, ?6 wake_at, ?7 attempt, ?8 worker, ?9 secret, ?10 cancelling,
--   ?11 mail_sent, ?12 mail_applied, ?13 rest, ?14 queue, ?15 priority, ?16 parent, ?17 name, ?18 turn
-- Result: one row changed
-- Atomicity: one statement of the writer's transaction
INSERT INTO job (
    id, run, version, state, since, wake_at, attempt, worker, secret, cancelling,
    mail_sent, mail_applied, rest, queue, priority, parent, name, turn)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18);
