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
	"net/netip"
	"os"
	"strconv"
	"strings"
)

// sourceError names a source, its value if it has one, what is wrong with it, and what to
// do.
func sourceError(source, value, reason string) error {
	if value != "" {
		source += fmt.Sprintf(" %q", value)
	}
	return errors.New("worker: " + source + " " + reason)
}

// Static returns n. Use it for tests, and for programs that run as a single process.
func Static(n int64) func(bits int) (int64, error) {
	return func(int) (int64, error) { return n, nil }
}

// Env returns the number in the environment variable name.
func Env(name string) func(bits int) (int64, error) {
	return func(bits int) (int64, error) {
		value, ok := os.LookupEnv(name)
		if !ok {
			return 0, sourceError(name, "", "is not set; set it to a number that no other process has")
		}
		return parse(name, value, value, bits)
	}
}

// Ordinal returns the number after the last "-" in HOSTNAME, e.g. 7 for "orders-7". This
// is how Kubernetes numbers the pods of a StatefulSet.
func Ordinal() func(bits int) (int64, error) {
	return func(bits int) (int64, error) {
		host, ok := os.LookupEnv("HOSTNAME")
		if !ok {
			return 0, sourceError("HOSTNAME", "", "is not set; run as a StatefulSet, or use another source")
		}
		i := strings.LastIndexByte(host, '-')
		if i < 0 {
			return 0, sourceError("HOSTNAME", host, `has no "-" before an ordinal; run as a StatefulSet, or use another source`)
		}
		return parse("HOSTNAME", host, host[i+1:], bits)
	}
}

// parse returns the worker number in text, which is either all of value or the end.
func parse(source, value, text string, bits int) (int64, error) {
	if value == "" {
		return 0, sourceError(source, value, "is empty; set it to a number that no other process has")
	}
	n, err := strconv.ParseUint(text, 10, 63)
	if err != nil || strconv.FormatUint(n, 10) != text {
		return 0, sourceError(source, value, "is not a plain decimal number; use digits only")
	}
	if n>>bits != 0 {
		return 0, sourceError(source, value, fmt.Sprintf("does not fit %d bits (0 to %d); use a smaller number or a layout with a wider worker field", bits, uint64(1)<<bits-1))
	}
	return int64(n), nil
}

// IPv4 returns the low bits of the host's private IPv4 address. With low = 8, for
// example, that's the fourth octet. It fails if there's no private address, if there are
// two that differ in these bits, or if the layout's worker field is narrower than low.
func IPv4(low int) func(bits int) (int64, error) {
	return func(bits int) (int64, error) {
		addrs, err := hostAddrs()
		if err != nil {
			return 0, fmt.Errorf("worker: reading the host's addresses: %w", err)
		}
		return fromIPv4(addrs, low, bits)
	}
}

// hostAddrs returns the addresses of the host's interfaces.
func hostAddrs() (addrs []netip.Addr, err error) {
	all, err := net.InterfaceAddrs()
	for _, a := range all {
		if prefix, err := netip.ParsePrefix(a.String()); err == nil {
			addrs = append(addrs, prefix.Addr().Unmap())
		}
	}
	return addrs, err
}

func fromIPv4(addrs []netip.Addr, low, bits int) (int64, error) {
	const source = "IPv4 address"
	if low < 1 || low > 32 || low > bits {
		return 0, sourceError(source, fmt.Sprintf("of %d bits", low), fmt.Sprintf("does not fit the worker field of %d bits; use 1 to %d", bits, min(bits, 32)))
	}
	found, n := netip.Addr{}, int64(0)
	for _, addr := range addrs {
		if !addr.Is4() || !addr.IsPrivate() {
			continue
		}
		candidate := int64(binary.BigEndian.Uint32(addr.AsSlice())) & (1<<low - 1)
		if found.IsValid() && candidate != n {
			return 0, sourceError(source, found.String()+" and "+addr.String(), "differ in these bits; use another source")
		}
		found, n = addr, candidate
	}
	if !found.IsValid() {
		return 0, sourceError(source, "", "of a private network (10/8, 172.16/12, 192.168/16) was not found; use another source")
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
