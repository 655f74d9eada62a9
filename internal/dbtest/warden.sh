# The warden of a private server. It is run as: sh -c <this> warden SIGNAL DIR INITIALISE SERVE
#
# Standard input is a pipe. Its other end is open in the owner of the server. When the
# owner ends, the kernel closes the pipe. The warden then sends SIGNAL to the server and
# removes DIR. If the owner ends during INITIALISE, the warden notices it after that.
signal=$1 dir=$2
trap 'rm -rf "$dir"' EXIT
exec 3<&0 </dev/null

eval "$3" || exit
while :; do
	eval "exec $4" 3<&- &
	server=$!
	echo $server >"$dir/server"

	# It repeats the signal, because a server that has just started may miss it. A
	# server that a test has stopped must continue to get it.
	{ read -r _ <&3; while kill -s "$signal" $server && kill -s CONT $server; do sleep 0.1; done; } 2>/dev/null &
	reader=$!

	wait $server
	status=$?
	kill $reader
	wait $reader
	# To start a killed server again, the test writes a line to the pipe. It waits until
	# this file is removed, because until then the reader above reads the pipe.
	rm -f "$dir/server"
	[ -e "$dir/again" ] && read -r _ <&3 || exit $status
done
