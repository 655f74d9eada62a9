package filestore

import (
	"os"
	"strings"
	"sync"
)

// bootID returns a text that differs after each boot of the machine, or "" if the system
// has none.
var bootID = sync.OnceValue(func() string {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(id))
})
