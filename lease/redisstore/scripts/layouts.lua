-- Returns the namespace's fields and values.
return redis.call('HGETALL', KEYS[1])
