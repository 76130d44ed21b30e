-- Purpose: deletes an ended run, its jobs some at a time.
-- Inputs: ARGV[1] the channel and ARGV[2] the message that tell of changes; ARGV[3] the run; ARGV[4] its tenant;
--         ARGV[5] the number of its newest event; ARGV[6] how many jobs to delete in this call.
-- Result: packed {0} for all is gone; {1} for more is left; {2} for a run that was changed or has not ended.
-- Atomicity: one step each call. The first one takes the run away; a repeated one goes on with what is left of it.

local GONE, MORE, CHANGED = 0, 1, 2
-- What is kept of a job under its id, and of a run under its own.
local OF_JOB = { ':j:', ':e:', ':d:', ':u:', ':l:', ':m:', ':c:' }
local OF_RUN = { ':r:', ':f:', ':v:', ':o:', ':aside:' }
-- The runs of which something may be left.
local LEFT = tag .. ':gone'
local ID_BYTES = 16

local run, tenant, newest, most = ARGV[3], ARGV[4], tonumber(ARGV[5]), tonumber(ARGV[6])

local function unlink(keys)
  for first = 1, #keys, ARGUMENTS_MAX do
    call('UNLINK', unpack(keys, first, math.min(#keys, first + ARGUMENTS_MAX - 1)))
  end
end

local function take_run_away()
  local keys = {}
  for _, key in ipairs(call('SMEMBERS', tag .. ':o:' .. run)) do keys[#keys + 1] = tag .. ':k:' .. key end
  for _, kind in ipairs(OF_RUN) do keys[#keys + 1] = tag .. kind .. run end
  unlink(keys)
  note(':t:' .. tenant, run, false)
  call('HDEL', tag .. ':paused', 'r' .. run)
  call('SADD', LEFT, run)
  call('PUBLISH', ARGV[1], ARGV[2])
end

-- Deletes the next jobs, and says whether there may be more.
local function delete_jobs()
  local names = ':n:' .. run
  local members, keys = call('ZRANGE', tag .. names, 0, most - 1), {}
  for _, member in ipairs(members) do
    local id = string.sub(member, 1, ID_BYTES)
    for _, kind in ipairs(OF_JOB) do keys[#keys + 1] = tag .. kind .. id end
    -- All of them have ended; in which state does not matter here.
    for state = RUNNING + 1, RUNNING + 4 do note(':s:' .. state, id, false) end
    note(':x', id, false)
    note(names, member, false)
  end
  unlink(keys)
  return #members == most
end

local head = call('HGET', run_key(run), 'h')
if head then
  head = unpack_record(head)
  -- Behind the version stands the number of open jobs, in two halves.
  local is_open = (head[2] or 0) > 0 or (head[3] or 0) > 0
  if is_open or call('LLEN', tag .. ':v:' .. run) ~= newest then return pack({ CHANGED }) end
  take_run_away()
elseif call('SISMEMBER', LEFT, run) == 0 then
  return pack({ GONE })
end
local is_more = delete_jobs()
write_notes()
if is_more then return pack({ MORE }) end
call('SREM', LEFT, run)
return pack({ GONE })
