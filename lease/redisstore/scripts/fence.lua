-- ARGV: protocol, layout, seen fingerprint ("" for any), current fingerprint, and the
-- raised fence (4)
local n = namespace(ARGV[2])
if not n or ARGV[3] ~= '' and ARGV[3] ~= n.fingerprint then return 0 end
n.fingerprint = ARGV[4]
n.fence = text(most(parse(n.fence), limit(5)))
setnamespace(ARGV[2], n)
return 1
