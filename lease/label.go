package lease

import (
	"fmt"
	"os"
)

// defaultLabel names this process to people.
func defaultLabel() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown host"
	}
	return fmt.Sprintf("%s/%d", host, os.Getpid())
}
