-- ARGV: protocol, layout, first and last worker, the bound in a namespace (4), and the
-- bound while the namespace does not exist (4)
local bound = text(limit(namespace(ARGV[2]) and 5 or 9))
if redis.call('HEXISTS', KEYS[1], 'rows ' .. ARGV[2]) == 0 then
	redis.call('HSET', KEYS[1], 'rows ' .. ARGV[2], ARGV[1])
end
for worker = tonumber(ARGV[3]), tonumber(ARGV[4]) do
	local field = string.format('%d', worker)
	if redis.call('HEXISTS', KEYS[2], field) == 0 then
		setrow(field, {token = '', revision = '0', bound = bound, expires = '0', label = ''})
	end
end
return 1
