package main

// A source generates ids. It is safe for concurrent use.
type source struct {
	name  string
	draw  workload
	limit float64 // ids per millisecond of its layout; 0 if that's more than a machine can generate
	ours  bool
}

// sources returns our own generators with this name, and the peers.
func sources(p *pools, name string) ([]source, error) {
	bwmarrin, err := bwmarrinOne()
	if err != nil {
		return nil, err
	}
	sony, err := sonyflakeOne()
	if err != nil {
		return nil, err
	}
	list := []source{
		{"Snowkey, DefaultLayout", one(p.full.Named(name)), 4096, true},
		{"Snowkey, a layout with room", one(p.room.Named(name)), 0, true},
		{"bwmarrin/snowflake", bwmarrin, 4096, false},
		{"sony/sonyflake", sony, 25.6, false},
		{"rs/xid", xidOne, 0, false},
		{"oklog/ulid", ulidOne, 0, false},
		{"google/uuid v7", uuidOne, 0, false},
	}
	if stdUUID != nil {
		list = append(list, source{stdUUIDName, stdUUID, 0, false})
	}
	return list, nil
}

// hasRoom reports whether the layout has room for this many ids a millisecond.
func (s source) hasRoom(rate int) bool { return s.limit == 0 || float64(rate) <= s.limit }

// exhaust uses up the ids that a source can issue ahead of the clock after it was idle,
// which would otherwise distort the measurement. For our generators, this is as many as
// MaxAhead (10 ms) has room for.
func (s source) exhaust() error { return s.draw(int(25 * s.limit)) }
