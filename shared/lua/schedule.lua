-- Purpose: records a schedule, or forgets it. It belongs to no run: KEYS[1] is the hash tag of the whole store.
-- Inputs: ARGV[1] the channel and ARGV[2] the message that tell of changes; ARGV[3] its field: tenant and name; ARGV[4] its
--         version; ARGV[5] it, as a document, or '' to forget it.
-- Result: packed {1} if it was done; {0} if it was changed by somebody else, or there is none to forget.
-- Atomicity: one step. A repeated call that finds what it has written answers as the first one.

local key, field, version, document = tag .. ':schedules', ARGV[3], tonumber(ARGV[4]), ARGV[5]
local stored = call('HGET', key, field)
local is_done
if document == '' then
  is_done = call('HDEL', key, field) == 1
else
  local before, written = 0, nil
  if stored then before, written = unpack(unpack_record(stored)) end
  if before == version and written == document then return pack({ 1 }) end
  is_done = before == version - 1
  if is_done then call('HSET', key, field, pack({ version, document })) end
end
if not is_done then return pack({ 0 }) end
call('PUBLISH', ARGV[1], ARGV[2])
return pack({ 1 })
