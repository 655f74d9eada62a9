package main

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	mysqldriver "github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"

	"github.com/snowkey-go/snowkey/internal/dbtest"
)

// portOf returns the port that db's server listens on.
func portOf(db dbtest.DB) (string, error) {
	if db.Driver == "pgx" {
		cfg, err := pgx.ParseConfig(db.DSN)
		if err != nil {
			return "", err
		}
		return strconv.Itoa(int(cfg.Port)), nil
	}
	cfg, err := mysqldriver.ParseDSN(db.DSN)
	if err != nil {
		return "", err
	}
	_, port, err := net.SplitHostPort(cfg.Addr)
	return port, err
}

// serverPID returns the process that listens on the port. Since it reads Linux's /proc,
// it only finds servers on this machine.
func serverPID(port string) (int, error) {
	n, err := strconv.Atoi(port)
	if err != nil {
		return 0, err
	}
	socket := ""
	for _, file := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		text, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(text)) {
			f := strings.Fields(line)
			// We need the local address, the state (0A means LISTEN) and the inode.
			if len(f) > 9 && f[3] == "0A" && strings.HasSuffix(f[1], fmt.Sprintf(":%04X", n)) {
				socket = "socket:[" + f[9] + "]"
			}
		}
	}
	if socket == "" {
		return 0, errors.New("no process of this machine listens on the server's port")
	}
	files, err := filepath.Glob("/proc/[0-9]*/fd/*")
	if err != nil {
		return 0, err
	}
	var pids []int
	for _, file := range files {
		if target, err := os.Readlink(file); err == nil && target == socket {
			pid, err := strconv.Atoi(strings.Split(file, "/")[2])
			if err != nil {
				return 0, err
			}
			pids = append(pids, pid)
		}
	}
	if len(pids) == 0 {
		return 0, errors.New("the server's process belongs to another user")
	}
	return slices.Min(pids), nil
}

// cpuUsed starts to measure the CPU time of the server and of this process. Call the
// returned function to get the CPU time since then, divided by n and formatted.
func (s *herdServer) cpuUsed() (end func(n int) string) {
	measure := func() (server, clients time.Duration, err error) {
		clients = cpuTime()
		if s.listen == "" {
			return 0, clients, nil
		}
		pid, err := serverPID(s.listen)
		if err == nil {
			server, err = cpuOf(pid)
		}
		return server, clients, err
	}
	server, clients, err := measure()
	return func(n int) string {
		serverNow, clientsNow, errNow := measure()
		mine := float64((clientsNow - clients).Microseconds()) / 1e3 / float64(n)
		if s.listen == "" {
			return fmt.Sprintf("%.2f ms", mine)
		}
		if err != nil || errNow != nil {
			return fmt.Sprintf("? + %.2f ms", mine)
		}
		return fmt.Sprintf("%.2f + %.2f ms", float64((serverNow-server).Microseconds())/1e3/float64(n), mine)
	}
}

// cpuOf returns the CPU time of a server's process and its children, including children
// that have already ended. This assumes that a server has either many threads or many
// children, but not both.
func cpuOf(pid int) (time.Duration, error) {
	const tick = 10 * time.Millisecond // the unit of /proc/PID/stat on all of Go's architectures
	var sum time.Duration
	found := false
	files, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return 0, err
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // it has ended
		}
		// Cut off the name of the program. It's in brackets, and may contain spaces or
		// even brackets itself.
		f := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
		used := f[11:13] // in user mode and in the kernel
		switch {
		case file == fmt.Sprintf("/proc/%d/stat", pid):
			found = true
			used = f[11:15] // also include children that have ended
		case f[1] != strconv.Itoa(pid):
			continue
		default:
			// The kernel rounds anything below a tick down to zero, which matters when
			// there are a thousand children. Fortunately, it also reports nanoseconds
			// for processes with a single thread.
			if text, err := os.ReadFile(file[:len(file)-len("stat")] + "schedstat"); err == nil {
				ns, err := strconv.ParseInt(strings.Fields(string(text))[0], 10, 64)
				if err != nil {
					return 0, err
				}
				sum += time.Duration(ns)
				continue
			}
		}
		for _, field := range used {
			n, err := strconv.ParseInt(field, 10, 64)
			if err != nil {
				return 0, err
			}
			sum += time.Duration(n) * tick
		}
	}
	if !found {
		return 0, fmt.Errorf("process %d is gone", pid)
	}
	return sum, nil
}
