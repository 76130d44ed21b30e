-- Purpose: writes batches, each all or nothing, and releases the blocked jobs that wait for nobody any more.
-- Inputs: ARGV[1] the number of the call in its lane; ARGV[2] the channel and ARGV[3] the message that tell of changes;
--         ARGV[4] and on one packed batch each, see the client's `packed` for its parts.
-- Result: packed, one answer to a batch: {0} done; {1, claim} the key stands for the same payload; {2} for another;
--         {3, kind, id} changed by somebody else; {4, charge, hi, lo} no room for the charge, and what is used; or 'late'.
-- Atomicity: each batch is checked before its first write. A repeated call gives the first one's answer.

local DONE, REPLAYED, KEY_TAKEN, CONFLICT, EXHAUSTED = 0, 1, 2, 3, 4
local A_RUN, A_JOB, A_JOURNAL = 0, 1, 2
-- The parts of a batch.
local AT, KEY, RUNS, INSERT, PUT, TOUCH, EDGES, REOPEN, COUNTDOWN = 1, 2, 3, 4, 5, 6, 7, 8, 9
local CASCADE, CASCADED, CHARGES, JOURNAL, MAIL, MAIL_READ, FILES, EVENTS, LOOK = 10, 11, 12, 13, 14, 15, 16, 17, 18
local LIMB = 4294967296
-- What a batch has of the parts that were not sent.
local NOTHING = {}

-- The records as they stand after the batches so far, and which of them are to be written at the end.
local jobs, changed_jobs, documents = {}, {}, {}
-- The packed records as the client sent them, of jobs that no script has changed since.
local sent = {}
local runs, changed_runs, run_documents = {}, {}, {}
-- Tenants, and hashes of agents, that were written in this call.
local known = {}

local function job(id)
  local hot = jobs[id]
  if hot == nil then
    hot = hot_of(id) or false
    jobs[id] = hot
  end
  return hot
end

-- The head of a run: its version, then its counters, each as two numbers of 32 bits.
local function run(id)
  local head = runs[id]
  if head == nil then
    local packed = call('HGET', run_key(id), 'h')
    head = packed and unpack_record(packed) or false
    runs[id] = head
  end
  return head
end

-- Adds to a counter of 64 bits, which stops at its ends.
local function add(hi, lo, minus, more_hi, more_lo)
  if minus == 0 then
    hi, lo = hi + more_hi, lo + more_lo
    if lo >= LIMB then hi, lo = hi + 1, lo - LIMB end
    if hi >= LIMB then return LIMB - 1, LIMB - 1 end
  else
    hi, lo = hi - more_hi, lo - more_lo
    if lo < 0 then hi, lo = hi - 1, lo + LIMB end
    if hi < 0 then return 0, 0 end
  end
  return hi, lo
end

local function conflicting(batch, puts)
  for _, new in ipairs(batch[RUNS]) do
    local head = run(new[1])
    if new[2] ~= (head and head[1] or 0) + 1 then return { CONFLICT, A_RUN, new[1] } end
  end
  for _, new in ipairs(batch[INSERT]) do
    if job(new[1]) then return { CONFLICT, A_JOB, new[1] } end
  end
  for place, new in ipairs(batch[PUT]) do
    local hot, next_hot = job(new[1]), unpack_record(new[2])
    local version = next_hot[VERSION]
    puts[place] = next_hot
    if version < 2 or not hot or version ~= hot[VERSION] + 1 then return { CONFLICT, A_JOB, new[1] } end
    -- Of a run that is being deleted, some jobs may still be there: they are as good as gone.
    if not run(next_hot[RUN]) then return { CONFLICT, A_JOB, new[1] } end
  end
  for _, touch in ipairs(batch[TOUCH]) do
    local hot = job(touch[1])
    if not hot or hot[VERSION] ~= touch[2] then return { CONFLICT, A_JOB, touch[1] } end
  end
  local lengths = {}
  for _, entry in ipairs(batch[JOURNAL]) do
    local id = entry[1]
    local length = lengths[id] or call('LLEN', tag .. ':l:' .. id)
    if entry[2] ~= length then return { CONFLICT, A_JOURNAL, id } end
    lengths[id] = length + 1
  end
end

-- The counters after the batch's charges, or the refusal of the first that does not fit.
local function charge(batch)
  local sums = {}
  for place, row in ipairs(batch[CHARGES]) do
    local id, counter, minus, more_hi, more_lo, bound_hi, bound_lo = unpack(row)
    local head = sums[id]
    if not head then
      head = { unpack(run(id) or { 0 }) }
      sums[id] = head
    end
    local at = 2 * counter + 2
    local used_hi, used_lo = head[at] or 0, head[at + 1] or 0
    local hi, lo = add(used_hi, used_lo, minus, more_hi, more_lo)
    if bound_hi >= 0 and (hi > bound_hi or hi == bound_hi and lo > bound_lo) then
      return nil, { EXHAUSTED, place - 1, used_hi, used_lo }
    end
    for absent = #head + 1, at + 1 do head[absent] = 0 end
    head[at], head[at + 1] = hi, lo
  end
  return sums
end

local function write_runs(batch, sums)
  for _, new in ipairs(batch[RUNS]) do
    local id, version, tenant, document, agents = unpack(new)
    if not run(id) then
      note(':t:' .. tenant, id, '0')
      if not known[tenant] then call('SADD', tag .. ':t', tenant) end
      known[tenant] = true
      runs[id] = { version }
    end
    runs[id][1] = version
    run_documents[id], changed_runs[id] = document, true
    for _, agent in ipairs(agents) do
      if not known[agent[1]] then call('SETNX', tag .. ':g:' .. agent[1], agent[2]) end
      known[agent[1]] = true
    end
  end
  for id, head in pairs(sums) do
    local stored = run(id)
    -- A charge on a run that nobody knows is of no account.
    if stored then
      head[1] = stored[1]
      runs[id], changed_runs[id] = head, true
    end
  end
end

-- The record as the client has packed it, unless the job is queued: then its turn has been filled in.
local function as_sent(hot, packed) return hot[STATE] ~= QUEUED and packed or nil end

local function write_jobs(batch, puts)
  for _, new in ipairs(batch[INSERT]) do
    local id, packed, rest, spec, parent, name = unpack(new)
    local hot = unpack_record(packed)
    move(id, nil, hot)
    jobs[id], sent[id], changed_jobs[id], documents[id] = hot, as_sent(hot, packed), true, { rest, spec }
    note(':n:' .. hot[RUN], id .. name, '0')
    if parent ~= '' then note(':c:' .. parent, id, '0') end
  end
  for place, new in ipairs(batch[PUT]) do
    local id, packed, rest = unpack(new)
    local hot = puts[place]
    move(id, jobs[id], hot)
    local spec = documents[id] and documents[id][2]
    jobs[id], sent[id], changed_jobs[id], documents[id] = hot, as_sent(hot, packed), true, { rest, spec }
  end
  for _, touch in ipairs(batch[TOUCH]) do
    local hot = jobs[touch[1]]
    hot[VERSION] = hot[VERSION] + 1
    sent[touch[1]], changed_jobs[touch[1]] = nil, true
  end
end

-- Waits for the parent of an edge that is on record, or does so no more. An edge is its parent and its kind.
local function mark(child, edge, unmet)
  if unmet == 0 then
    call('SREM', tag .. ':u:' .. child, edge)
  elseif call('HEXISTS', tag .. ':e:' .. child, edge) == 1 then
    call('SADD', tag .. ':u:' .. child, edge)
  end
end

-- Inserts the edges; one that is on record keeps its condition.
local function write_edges(batch)
  local new, waits, ends = {}, {}, {}
  for _, insert in ipairs(batch[INSERT]) do new[insert[1]] = true end
  local function add(lists, key, ...)
    local list = lists[key] or {}
    lists[key] = list
    for _, word in ipairs({ ... }) do list[#list + 1] = word end
  end
  for _, edge in ipairs(batch[EDGES]) do
    local child, parent, kind, condition, unmet = unpack(edge)
    -- A job that is new has no edges yet: all of them are written at once.
    if new[child] then
      add(ends, tag .. ':e:' .. child, parent .. kind, condition)
      add(ends, tag .. ':d:' .. parent, child .. kind, condition)
    else
      call('HSETNX', tag .. ':e:' .. child, parent .. kind, condition)
      call('HSETNX', tag .. ':d:' .. parent, child .. kind, condition)
    end
    if unmet == 1 then add(waits, tag .. ':u:' .. child, parent .. kind) end
  end
  for key, words in pairs(ends) do write_words('HSET', key, words) end
  for key, words in pairs(waits) do write_words('SADD', key, words) end
  for _, edge in ipairs(batch[EDGES]) do
    if edge[5] == 0 and not new[edge[1]] then mark(edge[1], edge[2] .. edge[3], 0) end
  end
end

local function write_graph(batch)
  if #batch[EDGES] > 0 then write_edges(batch) end
  for _, edge in ipairs(batch[REOPEN]) do mark(edge[1], edge[2], 1) end
  for _, edge in ipairs(batch[COUNTDOWN]) do mark(edge[1], edge[2], 0) end
  for _, id in ipairs(batch[CASCADE]) do note(':x', id, '0') end
  for _, id in ipairs(batch[CASCADED]) do note(':x', id, false) end
end

local function write_attachments(batch)
  for _, entry in ipairs(batch[JOURNAL]) do call('RPUSH', tag .. ':l:' .. entry[1], entry[3]) end
  for _, mail in ipairs(batch[MAIL]) do call('RPUSH', tag .. ':m:' .. mail[1], mail[2]) end
  for _, read in ipairs(batch[MAIL_READ]) do
    local mailbox, update = tag .. ':m:' .. read[1], read[2]
    for _, mail in ipairs(call('LRANGE', mailbox, 0, -1)) do
      if string.sub(mail, 1, #update) == update then call('LREM', mailbox, 0, mail) end
    end
  end
  for _, file in ipairs(batch[FILES]) do call('HSET', tag .. ':f:' .. file[1], file[2], file[3]) end
  for _, log in ipairs(batch[EVENTS]) do
    for _, event in ipairs(log[2]) do append(log[1], event) end
  end
end

-- Mirrors the release of `job::apply`.
local function release(id, hot, now)
  local old = { unpack(hot) }
  hot[VERSION] = hot[VERSION] + 1
  hot[BLOCKED_MS] = hot[BLOCKED_MS] + math.max(0, now - hot[SINCE])
  hot[SINCE] = now
  local event
  if hot[START_AT] > now and hot[ATTEMPT] == 0 then
    hot[STATE], hot[WAKE], hot[WHY] = SCHEDULED, hot[START_AT], AT_START
    event = { 'scheduled', hot[START_AT] }
  else
    local times_out = hot[QUEUE_TIMEOUT] >= 0 and hot[ATTEMPT] == 0
    hot[STATE], hot[WAKE], hot[WHY] = QUEUED, times_out and now + hot[QUEUE_TIMEOUT] or -1, -1
    event = { 'queued' }
  end
  move(id, old, hot)
  sent[id], changed_jobs[id] = nil, true
  append(hot[RUN], pack({ now, id, event }))
end

-- A batch: its moment, then each part that is not empty, behind its number.
local function batch_of(packed)
  local words = unpack_record(packed)
  local batch = {
    words[1], NOTHING, NOTHING, NOTHING, NOTHING, NOTHING, NOTHING, NOTHING, NOTHING,
    NOTHING, NOTHING, NOTHING, NOTHING, NOTHING, NOTHING, NOTHING, NOTHING, NOTHING,
  }
  for place = 2, #words, 2 do batch[words[place]] = words[place + 1] end
  return batch
end

local function commit(batch)
  local key = batch[KEY]
  if #key > 0 then
    local known = call('GET', tag .. ':k:' .. key[1])
    if known then
      if unpack_record(known)[1] == key[2] then return { REPLAYED, known } end
      return { KEY_TAKEN }
    end
  end
  -- The records that are put, unpacked.
  local puts = {}
  local conflict = conflicting(batch, puts)
  if conflict then return conflict end
  local sums, refusal = charge(batch)
  if refusal then return refusal end
  if #key > 0 then
    call('SET', tag .. ':k:' .. key[1], key[3])
    call('SADD', tag .. ':o:' .. unpack_record(key[3])[2], key[1])
  end
  write_runs(batch, sums)
  write_jobs(batch, puts)
  write_graph(batch)
  write_attachments(batch)
  for _, id in ipairs(batch[LOOK]) do
    local hot = job(id)
    if hot and hot[STATE] == BLOCKED and call('EXISTS', tag .. ':u:' .. id) == 0 then release(id, hot, batch[AT]) end
  end
  return { DONE }
end

local function write_records()
  for id in pairs(changed_jobs) do
    local hot, document = sent[id] or pack(jobs[id]), documents[id]
    if not document then
      call('HSET', job_key(id), 'h', hot)
    elseif document[2] then
      call('HSET', job_key(id), 'h', hot, 'd', document[1], 's', document[2])
    else
      call('HSET', job_key(id), 'h', hot, 'd', document[1])
    end
  end
  for id in pairs(changed_runs) do
    local head, document = pack(runs[id]), run_documents[id]
    if document then
      call('HSET', run_key(id), 'h', head, 'd', document)
    else
      call('HSET', run_key(id), 'h', head)
    end
  end
end

local number = tonumber(ARGV[1])
local before = answered(number)
if before ~= nil then return before or 'late' end
local answers, has_written = {}, false
for place = 4, #ARGV do
  local answer = commit(batch_of(ARGV[place]))
  answers[#answers + 1] = answer
  has_written = has_written or answer[1] == DONE
end
local answer = pack(answers)
if has_written then
  write_records()
  write_notes()
  wake_workers()
  call('PUBLISH', ARGV[2], ARGV[3])
end
remember(number, answer)
return answer
