-- Purpose: what the other scripts share: the record of a job, its places in the indexes, the log of a run, the lane of a
--          caller. It stands in front of each of them.
-- Inputs: KEYS[1] the hash tag of the shard, with which each key begins; KEYS[2] the lane of the caller.
-- Result: none of its own.
-- Atomicity: that of the script it stands in.

local call, tag = redis.call, KEYS[1]
local pack, unpack_record = cmsgpack.pack, cmsgpack.unpack

-- The places of a job's hot record, in the order in which the client packs them. A number that is absent is -1, a text ''.
local VERSION, STATE, SINCE, WAKE, ATTEMPT, WORKER, SECRET, CANCEL = 1, 2, 3, 4, 5, 6, 7, 8
local MAIL_SENT, MAIL_APPLIED, WHY, STARTED = 9, 10, 11, 12
local BLOCKED_MS, QUEUED_MS = 13, 15
local QUEUE_TIMEOUT, START_AT, PRIORITY, QUEUE, RUN = 17, 18, 19, 20, 21
-- The states that a script looks at, by their places in a job's life.
local BLOCKED, SCHEDULED, QUEUED, RUNNING = 0, 1, 2, 3
-- Why a job is scheduled: it was submitted with a start time.
local AT_START = 0
-- Tokens that wait for idle workers, at most so many a queue: each wakes one, who wakes the next if there is more to do.
local TOKENS_MAX = 32
-- How long a lane is remembered after its last call, in milliseconds: longer than any caller repeats a call.
local LANE_MS = 3600000
-- The most arguments of one command: Lua's stack holds some 8,000.
local ARGUMENTS_MAX = 4000

-- Which jobs became claimable in this call, as counts by queue.
local arrived = {}

local function job_key(id) return tag .. ':j:' .. id end
local function run_key(id) return tag .. ':r:' .. id end

local function hot_of(id)
  local packed = call('HGET', job_key(id), 'h')
  return packed and unpack_record(packed) or nil
end

-- Sorts as jobs are claimed: higher priority, then queued longer, then id.
local function place_in_queue(id, hot)
  return struct.pack('>I4I8', 2147483647 - hot[PRIORITY], hot[SINCE]) .. id
end

-- Takes a job out of the indexes that its record stands in.
local function leave(id, hot)
  local state = hot[STATE]
  call('ZREM', tag .. ':s:' .. state, id)
  if hot[WAKE] >= 0 then call('ZREM', tag .. ':w:' .. state, id) end
  if state == QUEUED then
    call('ZREM', tag .. ':q:' .. hot[QUEUE], place_in_queue(id, hot))
  elseif state == RUNNING then
    call('SREM', tag .. ':h:' .. hot[WORKER], id)
  end
end

-- Puts a job into the indexes that its record belongs in.
local function enter(id, hot)
  local state = hot[STATE]
  call('ZADD', tag .. ':s:' .. state, 0, id)
  if hot[WAKE] >= 0 then call('ZADD', tag .. ':w:' .. state, hot[WAKE], id) end
  if state == QUEUED then
    local queue = hot[QUEUE]
    call('ZADD', tag .. ':q:' .. queue, 0, place_in_queue(id, hot))
    arrived[queue] = (arrived[queue] or 0) + 1
  elseif state == RUNNING then
    call('SADD', tag .. ':h:' .. hot[WORKER], id)
  end
end

-- Appends one event, packed already, to the log of a run.
local function append(run, event) call('RPUSH', tag .. ':v:' .. run, event) end

-- Leaves a token for each job that became claimable, as long as there are few of them.
local function wake_workers()
  for queue, count in pairs(arrived) do
    local tokens = tag .. ':z:' .. queue
    for _ = 1, math.min(count, TOKENS_MAX - call('LLEN', tokens)) do call('RPUSH', tokens, '') end
  end
end

-- What became of the call of that number: its answer if it was the lane's last, `false` if a later one was answered
-- already, so that nobody waits for this one any more; `nil` if it is new.
local function answered(number)
  local last, answer = unpack(call('HMGET', KEYS[2], 'n', 'a'))
  if not last or tonumber(last) < number then return nil end
  return tonumber(last) == number and answer
end

-- Remembers the answer to the call of that number, should it be asked for again.
local function remember(number, answer)
  call('HSET', KEYS[2], 'n', number, 'a', answer)
  call('PEXPIRE', KEYS[2], LANE_MS)
end

