-- ARGV: protocol, layout, worker, seen token, revision and bound, fence, fingerprint,
-- token, label, wanted bound, TTL, skew, and the cap (4)
local worker, token = ARGV[3], ARGV[9]
local r, n = row(worker), namespace(ARGV[2])
if not r or not n then return {} end
if resent(r, token, ARGV[5]) then return answer(worker, r) end
local free = r.token == '' or compare(add(parse(r.expires), parse(ARGV[13])), now) < 0
if r.token ~= ARGV[4] or r.revision ~= ARGV[5] or r.bound ~= ARGV[6] or not free or
	n.fence ~= ARGV[7] or n.fingerprint ~= ARGV[8] then
	return {}
end
grant(r, token, ARGV[11], ARGV[12], limit(14))
r.label = ARGV[10]
return answer(worker, r)
