-- Compares and sets fields of the hash KEYS[1]. ARGV has, for each of them, its name, the
-- value that was read, and the new one, which is the same if it is only compared. A field
-- that does not exist has the value ''. If the request was executed before and its reply
-- was lost, the fields have the new values already. It then writes them once more, so that
-- the reply is always that to a write.
local unchanged, done = true, true
for i = 1, #ARGV, 3 do
	local value, seen, new = redis.call('HGET', KEYS[1], ARGV[i]) or '', ARGV[i + 1], ARGV[i + 2]
	unchanged = unchanged and value == seen
	done = done and (value == new or seen == new)
end
if not unchanged and not done then return 0 end
for i = 1, #ARGV, 3 do
	if ARGV[i + 1] ~= ARGV[i + 2] then redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 2]) end
end
return 1
