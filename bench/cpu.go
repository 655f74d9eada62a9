package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/snowkey-go/snowkey/internal/dbtest"
)

// serverCPU returns the CPU time of a server and of its children, which Postgres has one
// of for each connection. Since it reads Linux's /proc, it is 0 on other systems.
func serverCPU(process *dbtest.Process) (sum time.Duration) {
	text, _ := os.ReadFile(process.File("server"))
	server := strings.TrimSpace(string(text))
	files, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, file := range files {
		stat, err := os.ReadFile(file)
		if err != nil {
			continue // it has ended
		}
		// The name of the program is in brackets, and may have spaces and brackets itself. After
		// it come the state and the parent, and as 12 to 15 the time in user mode and in the
		// kernel, and that of the children that have ended.
		fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
		own, parent := file == "/proc/"+server+"/stat", fields[1]
		switch {
		case own:
			sum += ticks(fields[11:15])
		case parent == server:
			// The kernel rounds less than a tick down to zero there, which matters with a
			// thousand children, but has nanoseconds for processes with one thread here.
			if text, err := os.ReadFile(filepath.Dir(file) + "/schedstat"); err == nil {
				ns, _, _ := strings.Cut(string(text), " ")
				n, _ := strconv.ParseInt(ns, 10, 64)
				sum += time.Duration(n)
			}
		}
	}
	return sum
}

// ticks adds times in the unit of /proc/PID/stat, which is the same on all of Go's
// architectures.
func ticks(fields []string) (sum time.Duration) {
	for _, field := range fields {
		n, _ := strconv.ParseInt(field, 10, 64)
		sum += time.Duration(n) * 10 * time.Millisecond
	}
	return sum
}
