CREATE FUNCTION snowkey_time(id bigint) RETURNS timestamptz
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN (timestamp '2025-01-01 00:00:00' + ((id >> 22) & 2199023255551) * interval '1 millisecond') AT TIME ZONE 'UTC'
----
CREATE FUNCTION snowkey_worker(id bigint) RETURNS bigint
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN ((id >> 12) & 1023)
----
CREATE FUNCTION snowkey_sequence(id bigint) RETURNS bigint
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN (id & 4095)
----
CREATE FUNCTION snowkey_min_id(t timestamptz) RETURNS bigint
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
AS $$
BEGIN
    IF t < timestamptz '2025-01-01 00:00:00+00' OR t >= timestamptz '2094-09-07 15:47:35.552+00' THEN
        RAISE EXCEPTION 'snowkey_min_id: % is outside the layout, which has ids from 2025-01-01 00:00:00 until 2094-09-07 15:47:35.552', t
            USING ERRCODE = 'datetime_field_overflow';
    END IF;
    RETURN ((extract(epoch FROM t - timestamptz '2025-01-01 00:00:00+00') * 1000000)::bigint / 1000) << 22;
END
$$
----
CREATE FUNCTION snowkey_max_id(t timestamptz) RETURNS bigint
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN snowkey_min_id(t) | 4194303
