-- Returns names and values: 'now' with the server's time in microseconds, and then those of
-- the fields ARGV of the hash KEYS[1] that exist, or of all its fields.
local time = redis.call('TIME')
local reply = {'now', time[1] .. string.format('%06d', time[2])}
if #ARGV == 0 then
	for _, text in ipairs(redis.call('HGETALL', KEYS[1])) do table.insert(reply, text) end
	return reply
end
local values = redis.call('HMGET', KEYS[1], unpack(ARGV))
for i, name in ipairs(ARGV) do
	if values[i] then
		table.insert(reply, name)
		table.insert(reply, values[i])
	end
end
return reply
