-- Returns the server's time, and either the fields ARGV of the hash KEYS[1], or all of them
-- with their names.
local time = redis.call('TIME')
if #ARGV == 0 then return {time, redis.call('HGETALL', KEYS[1])} end
return {time, redis.call('HMGET', KEYS[1], unpack(ARGV))}
