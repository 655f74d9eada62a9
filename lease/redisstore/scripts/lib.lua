-- Every script starts with these functions. Lua's only numbers are doubles, which are
-- exact up to 2^53, but counters go up to 2^63. So a number is a list of four parts of six
-- decimal digits each, the lowest first. Only the last part may be negative, and then it
-- alone carries the sign: -1 is {999999, 999999, 999999, -1}.

local BASE = 1000000

-- carry returns n with all parts but the last between 0 and BASE-1.
local function carry(n)
	local out, over = {}, 0
	for i = 1, #n - 1 do
		local v = n[i] + over
		over = math.floor(v / BASE)
		out[i] = v - over * BASE
	end
	out[#n] = n[#n] + over
	return out
end

local function negative(n) return carry({-n[1], -n[2], -n[3], -n[4]}) end

local function parse(text)
	local sign, digits = string.match(text, '^(-?)(%d+)$')
	if not digits or #digits > 19 then error('SNOWKEYDAMAGED') end
	digits = string.rep('0', 24 - #digits) .. digits
	local n = {}
	for i = 1, 4 do n[i] = tonumber(string.sub(digits, 25 - 6 * i, 30 - 6 * i)) end
	if sign == '-' then return negative(n) end
	return n
end

local function digitsof(n) return string.format('%d%06d%06d%06d', n[4], n[3], n[2], n[1]) end

local function text(n)
	if n[4] < 0 then return '-' .. text(negative(n)) end
	return (string.gsub(digitsof(n), '^0+(%d)', '%1'))
end

-- compare returns a number below, equal to or above 0.
local function compare(a, b)
	for i = 4, 1, -1 do
		if a[i] ~= b[i] then return a[i] - b[i] end
	end
	return 0
end

local function least(a, b) if compare(a, b) < 0 then return a end return b end
local function most(a, b) if compare(a, b) > 0 then return a end return b end

local MIN, MAX = parse('-9223372036854775808'), parse('9223372036854775807')

-- int64 returns n, or fails if it does not fit into 64 bits.
local function int64(n)
	if compare(n, MIN) < 0 or compare(n, MAX) > 0 then error('SNOWKEYOVERFLOW') end
	return n
end

local function add(a, b) return int64(carry({a[1] + b[1], a[2] + b[2], a[3] + b[3], a[4] + b[4]})) end

local function multiply(a, b)
	local n = {0, 0, 0, 0, 0, 0, 0}
	for i = 1, 4 do
		for j = 1, 4 do n[i + j - 1] = n[i + j - 1] + a[i] * b[j] end
	end
	n = carry(n)
	for i = 6, 4, -1 do n[i] = n[i] + n[i + 1] * BASE end
	return int64({n[1], n[2], n[3], n[4]})
end

-- divide rounds towards zero, as Go does. unit is a Lua number from 1 to 2^53/10, so all
-- numbers of the long division are below 2^53, and the floor of each quotient is exact.
local function divide(n, unit)
	if n[4] < 0 then return negative(divide(negative(n), unit)) end
	local out, rest = {}, 0
	for digit in string.gmatch(digitsof(n), '%d') do
		rest = rest * 10 + tonumber(digit)
		local q = math.floor(rest / unit)
		rest = rest - q * unit
		out[#out + 1] = q
	end
	return parse(table.concat(out))
end

-- now is the server's time in microseconds since 1970.
local now = redis.call('TIME')
now = parse(now[1] .. string.format('%06d', tonumber(now[2])))

-- limit returns the counter that four arguments, starting with ARGV[i], describe: the
-- first counter of the tick of now plus an offset, plus another number of counters.
local function limit(i)
	local ticks = divide(add(now, parse(ARGV[i])), tonumber(ARGV[i + 1]))
	return add(multiply(ticks, parse(ARGV[i + 2])), parse(ARGV[i + 3]))
end

-- protocol fails if what an entry says is not the protocol version of this program.
local function protocol(found)
	if not found then error('SNOWKEYDAMAGED') end
	if found ~= ARGV[1] then error('SNOWKEYVERSION ' .. found) end
end

-- namespace returns the layout's entry in the namespace, or nil.
local function namespace(layout)
	local entry = redis.call('HGET', KEYS[1], 'layout ' .. layout)
	if not entry then return nil end
	local version, position, fence, fingerprint = string.match(entry, '^(%d+) (%d+) (-?%d+) (.*)$')
	protocol(version)
	return {position = position, fence = fence, fingerprint = fingerprint}
end

local function setnamespace(layout, n)
	redis.call('HSET', KEYS[1], 'layout ' .. layout, table.concat({ARGV[1], n.position, n.fence, n.fingerprint}, ' '))
end

local function parserow(entry)
	local version, token, revision, bound, expires, label = string.match(entry, '^(%d+) (%S*) (%d+) (-?%d+) (-?%d+) (.*)$')
	protocol(version)
	return {token = token, revision = revision, bound = bound, expires = expires, label = label}
end

-- row returns the row of a worker, or nil.
local function row(worker)
	local entry = redis.call('HGET', KEYS[2], worker)
	return entry and parserow(entry) or nil
end

local function setrow(worker, r)
	local entry = table.concat({ARGV[1], r.token, r.revision, r.bound, r.expires, r.label}, ' ')
	redis.call('HSET', KEYS[2], worker, entry)
	return entry
end

-- revise sets what every update of a row changes.
local function revise(r, token, expires)
	r.token, r.expires = token, expires
	r.revision = text(add(parse(r.revision), parse('1')))
end

-- grant raises the bound to wanted, or to the cap if that is lower.
local function grant(r, token, wanted, ttl, cap)
	revise(r, token, text(add(now, parse(ttl))))
	r.bound = text(most(parse(r.bound), least(parse(wanted), cap)))
end

-- resent reports whether this request was already executed, and its reply was lost. The
-- client may then have sent it again by itself.
local function resent(r, token, revision)
	return r.token == token and compare(parse(r.revision), add(parse(revision), parse('1'))) == 0 and
		compare(parse(r.expires), now) >= 0
end

-- answer writes the row and returns it. It also writes a row that was written before, so
-- that the reply is always the reply to a write.
local function answer(worker, r) return {text(now), setrow(worker, r)} end
