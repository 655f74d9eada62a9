-- ARGV: protocol, layout, position, fingerprint, and the fence of a new namespace (4)
local entries = redis.call('HGETALL', KEYS[1])
for i = 1, #entries, 2 do
	local layout = string.match(entries[i], '^layout (.*)$')
	if layout then
		local n = namespace(layout)
		if layout == ARGV[2] or compare(parse(n.position), parse(ARGV[3])) >= 0 then return 0 end
	end
end
setnamespace(ARGV[2], {position = ARGV[3], fence = text(limit(5)), fingerprint = ARGV[4]})
return 1
