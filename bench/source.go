package main

// A source makes ids, for as many goroutines as like.
type source struct {
	name  string
	draw  workload
	limit float64 // how many ids a millisecond its layout has; 0 means more than a machine asks for
	ours  bool
}

// sources are ours and the peers'.
func sources(p *pools) ([]source, error) {
	bwmarrin, err := bwmarrinOne()
	if err != nil {
		return nil, err
	}
	sony, err := sonyflakeOne()
	if err != nil {
		return nil, err
	}
	return []source{
		{"Snowkey, DefaultLayout", one(p.full.Named("studies")), 4096, true},
		{"Snowkey, a layout with room", one(p.room.Named("studies")), 0, true},
		{"bwmarrin/snowflake", bwmarrin, 4096, false},
		{"sony/sonyflake", sony, 25.6, false},
		{"rs/xid", xidOne, 0, false},
		{"oklog/ulid", ulidOne, 0, false},
		{"google/uuid v7", uuidOne, 0, false},
	}, nil
}

// exhaust spends what the source saved up while it was at rest: ours saves
// MaxAhead, 10 ms.
func (s source) exhaust() error { return s.draw(int(25 * s.limit)) }
