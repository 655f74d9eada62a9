# Searches a model for what breaks it, one configuration beside others. A script sets model, a .pml file beside it, sources
# this, which sets size to ci or, if that is its argument, full, and calls run for each configuration, finish, and result.
#
# One line for each configuration: verdict, name, states explored, seconds. What run uses: jobs, how many run at a time;
# memory, in MB, and hash, the bits of its table, for each; optimise, for the C compiler, because what is caught is caught soon.

set -eu
export LC_ALL=C

model=$(cd "$(dirname "$0")" && pwd)/$model
size=${1:-ci}
case $size in ci | full) ;; *) echo "usage: $0 [full]" >&2; exit 2 ;; esac

command -v spin >/dev/null || { echo "$0: spin is missing; on Debian and Ubuntu: apt-get install spin" >&2; exit 2; }
cc=${CC:-cc}
command -v "$cc" >/dev/null || { echo "$0: no C compiler ($cc); on Debian and Ubuntu: apt-get install gcc libc6-dev" >&2; exit 2; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap '[ -z "$pids" ] || kill $pids 2>/dev/null; exit 1' HUP INT TERM
started=0 running= pids=

# search sound|caught NAME [-DFLAG...] searches one configuration, in the working directory, and says what was found.
search() {
	expect=$1 name=$2
	shift 2
	spin -a "$@" "$model" >log 2>&1 || { echo "WRONG  $name: spin refuses the model"; cat log; return; }
	"$cc" "$optimise" -w -DSAFETY -DMEMLIM="$memory" -o pan pan.c || { echo "WRONG  $name: $cc fails"; return; }
	./pan -m10000 -w"$hash" >out 2>&1 &
	pan=$!
	trap 'kill $pan; exit 1' TERM
	wait $pan || true

	states=$(awk '/states, stored/ { print $1; exit }' out)
	seconds=$(awk '/elapsed time/ { print $4; exit }' out)
	verdict=unfinished
	if grep -q 'assertion violated' out; then
		verdict=caught
	elif grep -q 'errors: 0$' out && ! grep -q -e 'max search depth too small' -e 'Search not completed' out; then
		verdict=sound
	fi
	mark=ok
	[ "$verdict" = "$expect" ] || mark=WRONG
	printf '%-5s  %-7s %-64s %11s states %7s s\n' "$mark" "$verdict" "$name" "${states:--}" "${seconds:-0}"
	[ $mark = WRONG ] || return 0
	case $verdict in
	caught) echo "       the protocol is broken; to see how, in a copy of the model's folder: spin -a $* $(basename "$model") && $cc -DSAFETY -o pan pan.c && ./pan && spin -t -p -g $* $(basename "$model")" ;;
	sound) echo "       the search no longer sees this fault: $*" ;;
	*) tail -n 40 out ;;
	esac
}

# run does the same beside others; finish waits for those that run, and prints what they found.
run() {
	started=$((started + 1))
	mkdir "$work/$started"
	(cd "$work/$started" && search "$@") >"$work/$started.found" 2>&1 &
	pids="$pids $!"
	running="$running $started"
	[ $((started % jobs)) -gt 0 ] || finish
}
finish() {
	wait
	for i in $running; do
		cat "$work/$i.found"
		rm -rf "${work:?}/$i"
	done
	running= pids=
}

# result fails if one configuration was not what it should be.
result() {
	wrong=$(cat "$work"/*.found | grep -c -v '^ok ' || true)
	[ "$wrong" -gt 0 ] || return 0
	echo "$0: not every configuration is what it should be" >&2
	exit 1
}
