// Package worker gets worker numbers without a lease.
//
// Each function returns a function for [idgen.Config].Worker. If the value it needs is
// missing or malformed, that function won't guess: it returns an error naming the source
// and the value. Every source has a requirement you need to meet:
//
//	Static, Env   you give each running process a different number
//	Ordinal       a Kubernetes StatefulSet (or hosts with such names), one pool per pod
//	IPv4          no two processes share the low bits of their private address
//	Random        you accept the risk of equal numbers
//
// Two processes with the same number at the same time make equal ids. The same can happen
// when a number is passed on, if its previous holder has a clock that's ahead, or was
// only paused and issues more ids later. Unless you can rule out both, use a leased
// worker number (see snowkey.Open), which does that for you.
//
// [idgen.Config]: https://pkg.go.dev/github.com/snowkey-go/snowkey/idgen#Config
package worker

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
	"strings"
)

// Static returns n. Use it for tests, and for programs that run as a single process.
func Static(n int64) func(bits int) (int64, error) {
	return func(int) (int64, error) { return n, nil }
}

// Env returns the number in the environment variable name.
func Env(name string) func(bits int) (int64, error) {
	return func(bits int) (int64, error) {
		value := os.Getenv(name)
		if value == "" {
			return 0, fmt.Errorf("worker: %s is not set, or empty; set it to a number that no other process has", name)
		}
		return parse(name, value, value, bits)
	}
}

// Ordinal returns the number after the last "-" in HOSTNAME, e.g. 7 for "orders-7". This
// is how Kubernetes numbers the pods of a StatefulSet.
func Ordinal() func(bits int) (int64, error) {
	return func(bits int) (int64, error) {
		host := os.Getenv("HOSTNAME")
		i := strings.LastIndexByte(host, '-')
		if i < 0 {
			return 0, fmt.Errorf(`worker: HOSTNAME %q has no "-" before an ordinal; run as a StatefulSet, or use another source`, host)
		}
		return parse("HOSTNAME", host, host[i+1:], bits)
	}
}

// parse returns the worker number in text, which is either all of value or the end.
func parse(source, value, text string, bits int) (int64, error) {
	n, err := strconv.ParseUint(text, 10, 63)
	switch {
	case err != nil || strconv.FormatUint(n, 10) != text:
		return 0, fmt.Errorf("worker: %s %q is not a plain decimal number; use digits only", source, value)
	case n>>bits != 0:
		return 0, fmt.Errorf("worker: %s %q does not fit %d bits (0 to %d); use a smaller number or a layout with a wider worker field", source, value, bits, uint64(1)<<bits-1)
	}
	return int64(n), nil
}

// IPv4 returns the low bits of the host's private IPv4 address. With low = 8, for
// example, that's the fourth octet. It fails if there's no private address, if there are
// two that differ in these bits, or if the layout's worker field is narrower than low.
func IPv4(low int) func(bits int) (int64, error) {
	return func(bits int) (int64, error) {
		addrs, err := net.InterfaceAddrs()
		if err != nil {
			return 0, fmt.Errorf("worker: reading the host's addresses: %w", err)
		}
		return fromIPv4(addrs, low, bits)
	}
}

func fromIPv4(addrs []net.Addr, low, bits int) (n int64, err error) {
	if low < 1 || low > 32 || low > bits {
		return 0, fmt.Errorf("worker: IPv4 address of %d bits does not fit the worker field of %d bits; use 1 to %d", low, bits, min(bits, 32))
	}
	var found net.IP
	for _, addr := range addrs {
		network, _ := addr.(*net.IPNet)
		if network == nil || network.IP.To4() == nil || !network.IP.IsPrivate() {
			continue
		}
		candidate := int64(binary.BigEndian.Uint32(network.IP.To4())) & (1<<low - 1)
		if found != nil && candidate != n {
			return 0, fmt.Errorf("worker: IPv4 addresses %s and %s differ in these bits; use another source", found, network.IP)
		}
		found, n = network.IP, candidate
	}
	if found == nil {
		return 0, errors.New("worker: IPv4 address of a private network (10/8, 172.16/12, 192.168/16) was not found; use another source")
	}
	return n, nil
}

// Random returns a random number that fits the worker field. With n processes and b bits,
// the probability of two processes having the same number is about n²/2^(b+1). That's
// already one in ten for 15 processes and 10 bits, so only use Random for tests and
// single processes.
func Random() func(bits int) (int64, error) {
	return func(bits int) (int64, error) { return rand.Int64N(1 << min(bits, 62)), nil }
}
