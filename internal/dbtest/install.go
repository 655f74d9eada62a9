package dbtest

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
)

// installScript installs "$@". Debian packages start their servers right after being
// installed, and these would then keep running on the default ports. The script
// prevents that with a temporary policy-rc.d, which is Debian's mechanism for it.
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

// mayInstall reports whether we're root on Debian, Ubuntu or a derivative, and the user
// has explicitly allowed us to install packages.
func mayInstall() bool {
	return os.Getenv("SNOWKEY_TEST_INSTALL") == "1" && os.Geteuid() == 0 && mayFetch()
}

// aptGetInstall installs packages. The caller must hold the lock of locked.
func aptGetInstall(packages ...string) error {
	fmt.Fprintf(os.Stderr, "dbtest: apt-get install %v\n", packages)
	cmd := exec.Command("sh", append([]string{"-c", installScript, "install"}, packages...)...)
	cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("dbtest: apt-get install %v: %w; it ends:\n%s", packages, err, output[max(0, len(output)-2000):])
	}
	return nil
}
