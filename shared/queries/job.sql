-- Purpose: read a job's record
-- Inputs: ?1 id
-- Result: at most one row: what changes about it, then what it was asked to do
-- Atomicity: one statement; several of a call share one read transaction
SELECT job.id, job.run, job.version, job.state, job.since, job.wake_at, job.attempt, job.worker, job.secret,
    job.mail_sent, job.mail_applied, job.rest, job_spec.doc
FROM job JOIN job_spec ON job_spec.job = job.id
WHERE job.id = ?1;
