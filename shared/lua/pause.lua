-- Purpose: pauses a queue or a run, or ends its pause.
-- Inputs: ARGV[1] the channel and ARGV[2] the message that tell of changes; ARGV[3] the queue or run: 'q' and its name, or 'r'
--         and its id; ARGV[4] the pause as a document, or '' to end it; ARGV[5] the event for the run's log, packed.
-- Result: packed {1} if it was done, {0} if it stood so already, or there is no such run.
-- Atomicity: one step. A repeated call finds it done, so that its caller is told so once at least.

local PAUSED = tag .. ':paused'
local subject, pause, event = ARGV[3], ARGV[4], ARGV[5]
local name = string.sub(subject, 2)
local is_run = string.sub(subject, 1, 1) == 'r'

-- Brings back what claims have put aside. What has left its place since then, or the queue, is not there any more.
local function put_back(run)
  local aside = tag .. ':aside:' .. run
  for _, place in ipairs(call('ZRANGE', aside, 0, -1)) do
    local id = string.sub(place, 13)
    local hot = hot_of(id)
    if hot and hot[STATE] == QUEUED and place_in_queue(id, hot) == place then
      note(':q:' .. hot[QUEUE], place, '0')
      arrived[hot[QUEUE]] = (arrived[hot[QUEUE]] or 0) + 1
    end
  end
  call('UNLINK', aside)
end

local is_done
if pause ~= '' then
  is_done = not (is_run and call('EXISTS', run_key(name)) == 0) and call('HSETNX', PAUSED, subject, pause) == 1
else
  is_done = call('HDEL', PAUSED, subject) == 1
  if is_done and is_run then
    put_back(name)
  elseif is_done then
    arrived[name] = call('ZCARD', tag .. ':q:' .. name)
  end
end
if not is_done then return pack({ 0 }) end
if is_run then append(name, event) end
write_notes()
wake_workers()
call('PUBLISH', ARGV[1], ARGV[2])
return pack({ 1 })
