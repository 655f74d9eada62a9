# What .ci/run and .ci/nightly share. They source it.

# The environment must not change how the modules are built, or which databases are
# tested.
unset GOFLAGS GOEXPERIMENT CGO_ENABLED SNOWKEY_TEST_DB
export GOFLAGS=-mod=readonly

# need installs those of the programs that are missing, if it can.
need() {
	local missing=()
	for tool in "$@"; do
		command -v "$tool" >/dev/null || missing+=("$tool")
	done
	((${#missing[@]})) || return 0
	if ! { [[ $EUID == 0 ]] && command -v apt-get >/dev/null; }; then
		echo "$0: install ${missing[*]} first" >&2
		exit 1
	fi
	apt-get update -qq
	DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends "${missing[@]}" libc6-dev
}
