package sqlgen

import (
	"strings"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/errtest"
)

func TestRefused(t *testing.T) {
	day := errtest.Must(idgen.NewLayout(time.Unix(0, 0), 24*time.Hour, idgen.Time(20), idgen.Worker(5), idgen.Sequence(38)))(t)
	noWorker := errtest.Must(idgen.Preset("mastodon"))(t)
	fine := errtest.Must(idgen.NewLayout(time.Unix(0, 0), 1500*time.Nanosecond, idgen.Time(40), idgen.Worker(4), idgen.Sequence(8)))(t)
	wide := errtest.Must(idgen.NewLayout(time.Unix(0, 0), time.Microsecond, idgen.Time(51), idgen.Worker(4), idgen.Sequence(8)))(t)
	for name, tt := range map[string]struct {
		w          Writer
		field, has string
	}{
		"no worker field":  {Writer{Layout: noWorker}, "Layout", "no worker field"},
		"long ticks":       {Writer{Layout: day}, "Layout", "24h0m0s"},
		"nanoseconds":      {Writer{Layout: fine}, "Layout", "1.5µs"},
		"wide time":        {Writer{Layout: wide}, "Layout", "a sequence has 63"},
		"worker too large": {Writer{Worker: 1024}, "Worker", "1024"},
		"negative worker":  {Writer{Worker: -1}, "Worker", "-1"},
		"schema":           {Writer{Schema: `a"b`}, "Schema", `a\"b`},
		"name":             {Writer{Name: "a'b"}, "Name", "a'b"},
		"table":            {Writer{Table: "a.b"}, "Table", "a.b"},
		"long name":        {Writer{Name: strings.Repeat("x", 41)}, "Name", "xxx"},
		"namespace":        {Writer{Namespace: strings.Repeat("x", 65)}, "Namespace", "64 bytes"},
		"window":           {Writer{Window: -1}, "Window", "-1ns"},
	} {
		statements, err := tt.w.Statements("postgres", "")
		if err == nil || !strings.HasPrefix(err.Error(), "sqlgen: "+tt.field) || !strings.Contains(err.Error(), tt.has) || statements.Create != nil {
			t.Errorf("%s: got %v and %d statements", name, err, len(statements.Create))
		}
	}
}

// TestRoom checks that the counter has room for one number of each session behind a tick.
func TestRoom(t *testing.T) {
	for bits := 1; bits <= 20; bits++ {
		l := errtest.Must(idgen.NewLayout(time.Unix(0, 0), time.Second, idgen.Time(33), idgen.Worker(4), idgen.Sequence(bits)))(t)
		s := errtest.Must(Writer{Layout: l}.values(maxSessions))(t)
		if room := 1<<s.room - 1<<bits; room < maxSessions {
			t.Errorf("%d sequence bits: %d bits for the numbers leave room for %d", bits, s.room, room)
		}
	}
}

// TestWords checks that no word of the text is left, and that a namespace may have braces.
func TestWords(t *testing.T) {
	for _, w := range []Writer{{}, {Namespace: "a{b}'c"}} {
		statements := errtest.Must(w.postgres())(t)
		for _, s := range statements {
			if left := strings.ReplaceAll(s, "a{b}", ""); strings.Contains(left, "{") {
				t.Errorf("a word is left in %s", left)
			}
			if strings.Contains(s, "a{b}") && !strings.Contains(s, "'a{b}''c'") {
				t.Errorf("the namespace is not quoted in %s", s)
			}
		}
	}
}
