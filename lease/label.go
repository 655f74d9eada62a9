package lease

import (
	"fmt"
	"os"
)

// maxCounter asks for all that the cap allows.
const maxCounter = 1<<63 - 1

// defaultLabel names this process to people.
func defaultLabel() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown host"
	}
	return fmt.Sprintf("%s/%d", host, os.Getpid())
}
