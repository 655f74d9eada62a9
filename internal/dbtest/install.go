package dbtest

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
)

// installScript installs "$@". For as long as it runs, policy-rc.d (Debian's way
// of saying so) keeps the packages from starting their own servers, which would
// take the default ports and stay.
const installScript = `
policy=/usr/sbin/policy-rc.d
if [ ! -e $policy ]; then
	trap 'rm -f $policy' EXIT
	trap 'exit 1' HUP INT TERM
	printf '#!/bin/sh\nexit 101\n' >$policy
	chmod +x $policy
fi
apt-get update -q &&
	apt-get install -q -y --no-install-recommends -o DPkg::Lock::Timeout=600 "$@"
`

var debianLike = regexp.MustCompile(`(?m)^ID(_LIKE)?=.*\b(debian|ubuntu)\b`)

// mayInstall reports whether the user has allowed it, and is root on Debian, Ubuntu
// or one of their kin.
func mayInstall() bool {
	return os.Getenv("SNOWKEY_TEST_INSTALL") == "1" && os.Geteuid() == 0 && mayFetch()
}

// aptGetInstall is called under the lock.
func aptGetInstall(packages ...string) error {
	fmt.Fprintf(os.Stderr, "dbtest: apt-get install %v\n", packages)
	cmd := exec.Command("sh", append([]string{"-c", installScript, "install"}, packages...)...)
	cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("dbtest: apt-get install %v: %w; it ends:\n%s", packages, err, output[max(0, len(output)-2000):])
	}
	return nil
}
