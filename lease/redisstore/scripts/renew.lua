-- ARGV: protocol, worker, held token and revision, token, wanted bound, TTL, and the cap (4)
local worker, token = ARGV[2], ARGV[5]
local r = row(worker)
if not r then return {} end
if resent(r, token, ARGV[4]) then return answer(worker, r) end
if r.token ~= ARGV[3] or r.revision ~= ARGV[4] or r.token == '' or compare(parse(r.expires), now) < 0 then
	return {}
end
grant(r, token, ARGV[6], ARGV[7], limit(8))
return answer(worker, r)
