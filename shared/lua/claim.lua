-- Purpose: moves the next jobs of some queues to running, each under a fresh lease.
-- Inputs: ARGV[1] the number of the call in its lane; ARGV[2] the channel and ARGV[3] the message that tell of changes;
--         ARGV[4] now; ARGV[5] until when the leases hold; ARGV[6] how many jobs; ARGV[7] the worker;
--         ARGV[8] eight random bytes; ARGV[9] and on the queues, each once.
-- Result: packed {jobs, runs}: of each job {id, packed record, rest, specification, dependents}, of each run {id, head, document};
--         or 'late'. The dependents are a flat list of child and kind, and condition.
-- Atomicity: all jobs in one step. A repeated call gives the same jobs, as far as their leases still hold.

local now, lease_until, slots = tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])
local worker, chance = ARGV[7], ARGV[8]
-- Whether anything is paused here: mostly not, and then nothing more is asked.
local has_pauses = call('EXISTS', tag .. ':paused') == 1
-- Jobs of paused runs that one call puts aside: what is left of them is for the next call.
local ASIDE_MAX = 2000
local put_aside = 0

-- Whether one job at the head of its queue goes before another: higher priority, then queued longer, then id. Ids are compared
-- byte by byte: the server's locale has no say in it.
local function goes_before(one, other)
  if one.hot[PRIORITY] ~= other.hot[PRIORITY] then return one.hot[PRIORITY] > other.hot[PRIORITY] end
  if one.hot[SINCE] ~= other.hot[SINCE] then return one.hot[SINCE] < other.hot[SINCE] end
  for at = 1, #one.id do
    local a, b = string.byte(one.id, at), string.byte(other.id, at)
    if a ~= b then return a < b end
  end
  return false
end

local function is_paused(subject) return has_pauses and call('HEXISTS', tag .. ':paused', subject) == 1 end

-- The next places of a queue from a place on. Jobs of paused runs that stand there are put aside, so that no claim walks over
-- them twice, until their run is resumed.
local function next_places(queue, from)
  local index = ':q:' .. queue
  local places = call('ZRANGE', tag .. index, from, from + slots - 1)
  if not has_pauses then return places, from + #places end
  local free = {}
  for _, place in ipairs(places) do
    local run = hot_of(string.sub(place, 13))[RUN]
    if is_paused('r' .. run) then
      call('ZADD', tag .. ':aside:' .. run, '0', place)
      note(index, place, false)
      put_aside = put_aside + 1
    else
      free[#free + 1] = place
    end
  end
  -- What is put aside stands in the index until the end of the call.
  if #free == 0 and #places > 0 and put_aside < ASIDE_MAX then return next_places(queue, from + #places) end
  return free, from + #places
end

-- The ids of the next jobs of all queues together.
local function candidates()
  local heads = {}
  for place = 9, #ARGV do
    if not is_paused('q' .. ARGV[place]) then
      local places, from = next_places(ARGV[place], 0)
      heads[#heads + 1] = { at = 1, places = places, queue = ARGV[place], from = from }
    end
  end
  local ids = {}
  while #ids < slots do
    local first
    for _, head in ipairs(heads) do
      local place = head.places[head.at]
      if place and not head.id then
        head.id = string.sub(place, 13)
        -- The only queue has nobody to be compared with.
        head.hot = #heads > 1 and hot_of(head.id)
      end
      if place and (not first or goes_before(head, first)) then first = head end
    end
    if not first then break end
    ids[#ids + 1] = first.id
    first.at, first.id = first.at + 1, nil
    if has_pauses and not first.places[first.at] and put_aside < ASIDE_MAX then
      first.places, first.from = next_places(first.queue, first.from)
      first.at = 1
    end
  end
  return ids
end

-- The lease's secret: the random bytes, mixed with the id so that it differs from job to job.
local function secret_of(id)
  local a, b, c, d = struct.unpack('>I4I4I4I4', id)
  local high, low = struct.unpack('>I4I4', chance)
  return struct.pack('>i4i4', bit.bxor(high, a, c), bit.bxor(low, b, d))
end

-- Where the lines have got to.
local passed = {}

-- Forgets the last turns that are over, which are of no account, and writes where the lines have got to: in this order, for
-- that stands among the turns.
local function pass_turns()
  for line, turn in pairs(passed) do
    call('ZREMRANGEBYSCORE', tag .. line, '-inf', turn)
    call('ZADD', tag .. line, 'GT', turn, '')
  end
end

-- Mirrors the claim of `job::apply`.
local function take(id, hot)
  note(':q:' .. hot[QUEUE], place_in_queue(id, hot), false)
  if hot[WAKE] >= 0 then note(':w:' .. QUEUED, id, false) end
  note(':w:' .. RUNNING, id, lease_until)
  hot[VERSION] = hot[VERSION] + 1
  hot[QUEUED_MS] = hot[QUEUED_MS] + math.max(0, now - hot[SINCE])
  hot[STATE], hot[SINCE], hot[WAKE], hot[WHY] = RUNNING, now, lease_until, -1
  hot[ATTEMPT], hot[WORKER], hot[SECRET] = hot[ATTEMPT] + 1, worker, secret_of(id)
  if hot[STARTED] < 0 then hot[STARTED] = now end
  local line = line_of(hot)
  passed[line] = math.max(passed[line] or 0, hot[TURN] or 0)
  append(hot[RUN], pack({ now, id, { 'started', hot[ATTEMPT], worker } }))
end

-- A job as it stands: its record, its rest and its specification.
local function record_of(id)
  local packed, rest, spec = unpack(call('HMGET', job_key(id), 'h', 'd', 's'))
  return packed and { id, packed, rest, spec }, packed and unpack_record(packed)
end

-- The answer for jobs that are held now, with the edges in which they are the parent.
local function told(jobs, runs_of_jobs)
  local runs, seen = {}, {}
  for place, job in ipairs(jobs) do
    job[5] = call('HGETALL', tag .. ':d:' .. job[1])
    local run = runs_of_jobs[place]
    if not seen[run] then
      seen[run] = true
      local head, document = unpack(call('HMGET', run_key(run), 'h', 'd'))
      runs[#runs + 1] = { run, head, document }
    end
  end
  return pack({ jobs, runs })
end

-- Leaves a token while there is more to do, and none when there is not.
local function pass_on()
  for place = 9, #ARGV do
    local queue = ARGV[place]
    local tokens = tag .. ':z:' .. queue
    if is_paused('q' .. queue) or call('EXISTS', tag .. ':q:' .. queue) == 0 then
      call('DEL', tokens)
    elseif call('EXISTS', tokens) == 0 then
      call('RPUSH', tokens, '')
    end
  end
end

local number = tonumber(ARGV[1])
local before = answered(number)
if before == false then return 'late' end
local jobs, runs_of_jobs = {}, {}
if before then
  for _, id in ipairs(unpack_record(before)) do
    local job, hot = record_of(id)
    if hot and hot[STATE] == RUNNING and hot[WORKER] == worker and hot[SECRET] == secret_of(id) then
      jobs[#jobs + 1], runs_of_jobs[#jobs + 1] = job, hot[RUN]
    end
  end
  return told(jobs, runs_of_jobs)
end
local ids = candidates()
for place, id in ipairs(ids) do
  local job, hot = record_of(id)
  take(id, hot)
  job[2] = pack(hot)
  call('HSET', job_key(id), 'h', job[2])
  jobs[place], runs_of_jobs[place] = job, hot[RUN]
end
write_notes()
pass_turns()
pass_on()
remember(number, pack(ids))
if #ids > 0 then call('PUBLISH', ARGV[2], ARGV[3]) end
return told(jobs, runs_of_jobs)
