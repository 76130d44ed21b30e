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
local QUEUE_TIMEOUT, START_AT, PRIORITY, QUEUE, RUN, TURN = 17, 18, 19, 20, 21, 22
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
-- What changes in the indexes, see `note`, and what comes to the logs of runs, see `append`.
local indexes, logs = {}, {}

local function job_key(id) return tag .. ':j:' .. id end
local function run_key(id) return tag .. ':r:' .. id end

local function hot_of(id)
  local packed = call('HGET', job_key(id), 'h')
  return packed and unpack_record(packed) or nil
end

-- Sorts as jobs are claimed: higher priority, then turn, then id.
local function place_in_queue(id, hot)
  -- Records of the first format have no turn.
  return struct.pack('>I4I8', 2147483647 - hot[PRIORITY], hot[TURN] or hot[SINCE]) .. id
end

-- The index of a line, which is a queue at a priority: the last turn of each run in it, and under '' where it has got to.
local function line_of(hot) return ':y:' .. hot[PRIORITY] .. ':' .. hot[QUEUE] end

-- Sets the score of a member of an index, or takes it out if there is none. Written at the end of the call, all members of an
-- index at once: a command of its own for each would cost more than all else.
local function note(index, member, score)
  local members = indexes[index]
  if not members then
    members = {}
    indexes[index] = members
  end
  members[member] = score
end

-- The turns of this call, by line: where it has got to, and the last one of each run.
local lines = {}

-- Gives a job that comes into its queue its turn. Mirrors `store::turn::next`.
local function take_turn(hot)
  local index, run = line_of(hot), hot[RUN]
  local line = lines[index]
  if not line then
    local now, last = unpack(call('ZMSCORE', tag .. index, '', run))
    line = { now = tonumber(now or 0), last = { [run] = tonumber(last or -1) } }
    lines[index] = line
  end
  local last = line.last[run] or tonumber(call('ZSCORE', tag .. index, run) or -1)
  local turn = math.max(line.now, last) + 1
  line.last[run] = turn
  note(index, run, turn)
  return turn
end

-- One command with many words, in as many parts as it takes.
local function write_words(name, key, words)
  for first = 1, #words, ARGUMENTS_MAX do
    call(name, key, unpack(words, first, math.min(#words, first + ARGUMENTS_MAX - 1)))
  end
end

-- Writes what was noted and appended.
local function write_notes()
  for index, members in pairs(indexes) do
    local added, removed = {}, {}
    for member, score in pairs(members) do
      if score then
        added[#added + 1] = score
        added[#added + 1] = member
      else
        removed[#removed + 1] = member
      end
    end
    write_words('ZREM', tag .. index, removed)
    write_words('ZADD', tag .. index, added)
  end
  for run, events in pairs(logs) do write_words('RPUSH', tag .. ':v:' .. run, events) end
end

-- The index of all jobs in a state. Those that have not ended stand in one: few, and always on the move.
local function index_of(state) return state <= RUNNING and ':s:live' or ':s:' .. state end

-- Moves a job from the indexes of its old record, if there was one, to those of its new one.
local function move(id, old, new)
  local was_queued, is_queued = old and old[STATE] == QUEUED, new[STATE] == QUEUED
  if is_queued then new[TURN] = was_queued and old[TURN] or take_turn(new) end
  local from, to = old and index_of(old[STATE]), index_of(new[STATE])
  if from ~= to then
    if from then note(from, id, false) end
    note(to, id, '0')
  end
  from, to = old and old[WAKE] >= 0 and ':w:' .. old[STATE], new[WAKE] >= 0 and ':w:' .. new[STATE]
  if from and from ~= to then note(from, id, false) end
  if to and (from ~= to or old[WAKE] ~= new[WAKE]) then note(to, id, new[WAKE]) end
  from, to = was_queued and place_in_queue(id, old), is_queued and place_in_queue(id, new)
  if from ~= to then
    if from then note(':q:' .. old[QUEUE], from, false) end
    if to then
      note(':q:' .. new[QUEUE], to, '0')
      arrived[new[QUEUE]] = (arrived[new[QUEUE]] or 0) + 1
    end
  end
end

-- Appends one event, packed already, to the log of a run; written with the indexes, and for the same reason.
local function append(run, event)
  local log = logs[run]
  if log then
    log[#log + 1] = event
  else
    logs[run] = { event }
  end
end

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

