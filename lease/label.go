package lease

import (
	"net"
	"os"
)

// defaultLabel names this process to people, and is the same after a restart: the
// host's name, the port that the environment says it serves ($PORT), and the
// address of the first network card.
func defaultLabel() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown host"
	}
	if port := os.Getenv("PORT"); port != "" {
		host += ":" + port
	}
	interfaces, _ := net.Interfaces() // none is as good as an error
	for _, i := range interfaces {
		if len(i.HardwareAddr) > 0 {
			host += " " + i.HardwareAddr.String()
			break
		}
	}
	if len(host) > 255 || !storable(host) {
		return "unknown host"
	}
	return host
}
