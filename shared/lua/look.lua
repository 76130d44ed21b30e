-- Purpose: answers several questions as of one moment, also while the server takes no writes for want of memory.
-- Inputs: ARGV[1] the commands, packed as a list of lists; all of them read, and their keys are of this shard.
-- Result: packed, the list of their answers.
-- Atomicity: nothing changes between the first question and the last.

local answers = {}
for place, command in ipairs(unpack_record(ARGV[1])) do answers[place] = call(unpack(command)) end
return pack(answers)
