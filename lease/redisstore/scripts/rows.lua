-- ARGV: first and last worker, and which rows to return:
--   all   every row
--   free  free rows only; if there is none, the row that becomes free first
-- and then the layout and the skew. The reply is the time, the layout's entry in the
-- namespace, the largest worker of the range that has a row, and workers with their rows.
--
-- This script only reads, and no process relies on what it has read. So it may compare
-- times as doubles, and it leaves the comparison of bounds to the client.
local first, last, which, layout, skew = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3], ARGV[4], tonumber(ARGV[5])
local entries = {}
if last - first < 64 then
	for worker = first, last do
		local field = string.format('%d', worker)
		local entry = redis.call('HGET', KEYS[2], field)
		if entry then
			entries[#entries + 1] = field
			entries[#entries + 1] = entry
		end
	end
else
	entries = redis.call('HGETALL', KEYS[2])
end
local time = tonumber(text(now))
local out = {text(now), redis.call('HGET', KEYS[1], 'layout ' .. layout) or '', ''}
local top, earliest, next = first - 1, nil, nil
for i = 1, #entries, 2 do
	local worker = tonumber(entries[i])
	if worker >= first and worker <= last then
		top = math.max(top, worker)
		local keep = which == 'all'
		if not keep then
			local token, expires = string.match(entries[i + 1], '^%d+ (%S*) %d+ %-?%d+ (%-?%d+) ')
			expires = tonumber(expires or 0)
			keep = not token or token == '' or expires + skew < time
			if not keep and (not earliest or expires < earliest) then earliest, next = expires, i end
		end
		if keep then
			out[#out + 1] = entries[i]
			out[#out + 1] = entries[i + 1]
		end
	end
end
if #out == 3 and next then
	out[4], out[5] = entries[next], entries[next + 1]
end
out[3] = string.format('%d', top)
return out
