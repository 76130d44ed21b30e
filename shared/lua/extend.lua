-- Purpose: extends leases whose token still holds its job, and says what their workers should look at.
-- Inputs: ARGV[1] until when; ARGV[2] the tokens, packed as a list of {job, attempt, secret}.
-- Result: packed, to each token {held, version, cancel, mail}, in their order; version 0 where there is no such job.
-- Atomicity: all in one step. It may be repeated: a lease is never shortened, and no version changes.

local lease_until, answers = tonumber(ARGV[1]), {}
for place, token in ipairs(unpack_record(ARGV[2])) do
  local id, attempt, secret = unpack(token)
  local hot = hot_of(id)
  if not hot then
    answers[place] = { 0, 0, 0, 0 }
  elseif hot[STATE] == RUNNING and hot[ATTEMPT] == attempt and hot[SECRET] == secret then
    if hot[WAKE] < lease_until then
      hot[WAKE] = lease_until
      call('HSET', job_key(id), 'h', pack(hot))
      call('ZADD', tag .. ':w:' .. RUNNING, lease_until, id)
    end
    answers[place] = { 1, hot[VERSION], hot[CANCEL], math.max(0, hot[MAIL_SENT] - hot[MAIL_APPLIED]) }
  else
    answers[place] = { 0, hot[VERSION], 0, 0 }
  end
end
return pack(answers)
