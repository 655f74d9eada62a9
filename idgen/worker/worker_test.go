package worker

import (
	"net"
	"slices"
	"strings"
	"testing"
)

func TestSources(t *testing.T) {
	const bits = 10
	for _, tt := range []struct {
		name, env, value string
		source           func(int) (int64, error)
		want             int64
		err              []string // parts of the message, or nil if there is no error
	}{
		{"static", "", "", Static(7), 7, nil},
		{"env", "MY_WORKER", "1023", Env("MY_WORKER"), 1023, nil},
		{"env 0", "MY_WORKER", "0", Env("MY_WORKER"), 0, nil},
		{"env empty", "MY_WORKER", "", Env("MY_WORKER"), 0, []string{"worker: MY_WORKER is not set, or empty; set it"}},
		{"env missing", "", "", Env("A_WORKER_THAT_IS_NOT_SET"), 0, []string{"worker: A_WORKER_THAT_IS_NOT_SET is not set, or empty; set it"}},
		{"env too large", "MY_WORKER", "1024", Env("MY_WORKER"), 0, []string{"MY_WORKER", `"1024"`, "0 to 1023"}},
		{"env overflow", "MY_WORKER", "99999999999999999999", Env("MY_WORKER"), 0, []string{"MY_WORKER", "plain decimal"}},
		{"env negative", "MY_WORKER", "-1", Env("MY_WORKER"), 0, []string{`"-1"`, "plain decimal"}},
		{"env padded", "MY_WORKER", "007", Env("MY_WORKER"), 0, []string{`"007"`}},
		{"env space", "MY_WORKER", " 7", Env("MY_WORKER"), 0, []string{`" 7"`}},
		{"env plus", "MY_WORKER", "+7", Env("MY_WORKER"), 0, []string{`"+7"`}},
		{"env hex", "MY_WORKER", "0x7", Env("MY_WORKER"), 0, []string{`"0x7"`}},
		{"ordinal", "HOSTNAME", "orders-7", Ordinal(), 7, nil},
		{"ordinal of many parts", "HOSTNAME", "my-orders-db-12", Ordinal(), 12, nil},
		{"deployment", "HOSTNAME", "orders-6d4cf56db6-abcde", Ordinal(), 0, []string{"HOSTNAME", "orders-6d4cf56db6-abcde", "plain decimal"}},
		{"no dash", "HOSTNAME", "orders7", Ordinal(), 0, []string{"HOSTNAME", "orders7", "StatefulSet"}},
		{"no ordinal", "HOSTNAME", "orders-", Ordinal(), 0, []string{"HOSTNAME", "orders-"}},
		{"no host", "HOSTNAME", "", Ordinal(), 0, []string{`worker: HOSTNAME "" has no "-"`, "StatefulSet"}},
		{"ordinal too large", "HOSTNAME", "orders-1024", Ordinal(), 0, []string{"orders-1024", "1023"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.env != "" {
				t.Setenv(tt.env, tt.value)
			}
			got, err := tt.source(bits)
			if (err != nil) != (tt.err != nil) || got != tt.want {
				t.Fatalf("%d, %v; want %d, %v", got, err, tt.want, tt.err)
			}
			for _, s := range tt.err {
				if !strings.Contains(err.Error(), s) {
					t.Errorf("%q does not say %q", err, s)
				}
			}
		})
	}
}

func TestIPv4(t *testing.T) {
	for _, tt := range []struct {
		name  string
		addrs []string
		low   int
		bits  int
		want  int64
		err   string
	}{
		{"fourth octet", []string{"127.0.0.1", "10.20.30.41", "fe80::1"}, 8, 10, 41, ""},
		{"ten bits", []string{"192.168.3.41"}, 10, 10, 3<<8 | 41, ""},
		{"two that agree", []string{"10.0.0.9", "172.16.5.9"}, 8, 8, 9, ""},
		{"two that differ", []string{"10.0.0.9", "172.17.0.1"}, 8, 10, 0, "10.0.0.9 and 172.17.0.1"},
		{"public only", []string{"8.8.8.8", "127.0.0.1"}, 8, 10, 0, "not found"},
		{"none", nil, 8, 10, 0, "not found"},
		{"field too narrow", []string{"10.0.0.9"}, 16, 10, 0, "use 1 to 10"},
		{"no bits", []string{"10.0.0.9"}, 0, 10, 0, "use 1 to 10"},
		{"too many bits", []string{"10.0.0.9"}, 33, 40, 0, "use 1 to 32"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var addrs []net.Addr
			for _, a := range tt.addrs {
				addrs = append(addrs, &net.IPNet{IP: net.ParseIP(a)})
			}
			got, err := fromIPv4(addrs, tt.low, tt.bits)
			if got != tt.want || (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%s: %d, %v; want %d, %q", tt.name, got, err, tt.want, tt.err)
			}
		})
	}
	host, err := net.InterfaceAddrs()
	if err != nil || !slices.ContainsFunc(host, func(a net.Addr) bool { return a.(*net.IPNet).IP.IsLoopback() }) {
		t.Errorf("the host's addresses, without a loopback one: %v, %v", host, err)
	}
}

func TestRandom(t *testing.T) {
	seen := map[int64]bool{}
	for range 2000 {
		n, err := Random()(4)
		if err != nil || n < 0 || n > 15 {
			t.Fatalf("%d, %v", n, err)
		}
		seen[n] = true
	}
	if len(seen) != 16 {
		t.Errorf("2,000 draws gave %d of 16 numbers", len(seen))
	}
	for _, bits := range []int{0, 63} {
		if n, err := Random()(bits); err != nil || n < 0 || bits == 0 && n != 0 {
			t.Errorf("%d bits: %d, %v", bits, n, err)
		}
	}
}
