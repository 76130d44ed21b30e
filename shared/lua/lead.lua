-- Purpose: asks for the lead of maintenance. It belongs to no run: KEYS[1] is the hash tag of the whole store.
-- Inputs: ARGV[1] now; ARGV[2] until when the lead is wanted; ARGV[3] who asks.
-- Result: packed {holder, until when}.
-- Atomicity: one step. Asking again changes nothing but the moment.

local now, lead_until, who = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3]
local key = tag .. ':lead'
local holder, held_until = unpack(call('HMGET', key, 'holder', 'until'))
held_until = tonumber(held_until)
-- Mirrors `Lead::after`.
if not holder or holder == who or held_until <= now then
  holder, held_until = who, lead_until
  call('HSET', key, 'holder', holder, 'until', ARGV[2])
end
return pack({ holder, held_until })
