#!/bin/sh
# Runs the short chaos test N times on each server, one run at a time, while BUSY loops
# keep the processor busy. If a run fails, it prints where the evidence is and
# continues. All arguments are passed to go test -c as flags; with -tags nightly, etcd,
# redis and zookeeper are servers too. You can set these variables:
#
#	N=60                how many runs on each server
#	BUSY=10             how many busy loops
#	DB="postgres mysql" the servers
#	SNOWKEY_CHAOS_KEEP  the directory for the evidence of failures
#
# If /dev/shm has a gigabyte, the servers keep their files there. On a busy machine, a
# file system can stall for longer than a lease lasts, which isn't one of the faults to
# be tested.
set -u
n=${N:-60} busy=${BUSY:-10} servers=${DB:-postgres mysql}
keep=${SNOWKEY_CHAOS_KEEP:-${TMPDIR:-/tmp}/snowkey-chaos}
unset SNOWKEY_CHAOS

mkdir -p "$keep" && SNOWKEY_CHAOS_KEEP=$(cd "$keep" && pwd) && work=$(mktemp -d) || exit
export SNOWKEY_CHAOS_KEEP
cd "$(dirname "$0")" && go test -c "$@" -o "$work/chaos.test" . || { rm -r "$work"; exit 1; }
[ -w /dev/shm ] && [ "$(df -Pk /dev/shm | awk 'NR == 2 { print $4 }')" -ge 1048576 ] && export TMPDIR=/dev/shm

# The loops must also end if this script gets killed.
loops=
while [ "$busy" -gt 0 ]; do
	(while kill -0 $$ 2>/dev/null; do :; done) &
	loops="$loops $!"
	busy=$((busy - 1))
done
trap 'kill $loops 2>/dev/null; rm -r "$work"' EXIT
trap 'exit 1' INT TERM

failed=0
for server in $servers; do
	i=0
	while [ "$i" -lt "$n" ]; do
		i=$((i + 1))
		start=$(date +%s)
		if SNOWKEY_TEST_DB=$server "$work/chaos.test" -test.v -test.short -test.timeout 30m -test.run '^TestChaos$' >"$work/log" 2>&1; then
			result=ok
		else
			failed=$((failed + 1))
			kept=$(mktemp "$SNOWKEY_CHAOS_KEEP/$server-XXXXXX")
			cp "$work/log" "$kept"
			result="FAILED, see $kept"
		fi
		echo "$server, run $i of $n: $result, $(($(date +%s) - start)) s"
		# The ids and the duplicates of TestChaos, and the directories with the evidence of failures.
		sed -n 's/^.*_test.go:[0-9]*: \([0-9]* ids in .*\)/	\1/p; s/^.*_test.go:[0-9]*: \(the evidence .*\)/	\1/p' "$work/log"
	done
done
echo "$failed failed"
[ "$failed" -eq 0 ]
