package keeper

import (
	"net"
	"os"
)

// defaultLabel returns a label that helps people recognize this process and that stays
// the same after a restart. It consists of the host's name, $PORT if it is set, and the
// address of the first network card.
func defaultLabel() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown host"
	}
	if port := os.Getenv("PORT"); port != "" {
		host += ":" + port
	}
	interfaces, _ := net.Interfaces() // if there is an error, we just leave out the address
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
