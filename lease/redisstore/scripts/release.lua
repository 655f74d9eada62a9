-- ARGV: protocol, worker, held token and revision, first unused counter
local worker = ARGV[2]
local r = row(worker)
if not r then return 0 end
if r.token ~= ARGV[3] or r.revision ~= ARGV[4] then return 0 end
revise(r, '', '0')
r.bound = text(least(parse(r.bound), parse(ARGV[5])))
setrow(worker, r)
return 1
