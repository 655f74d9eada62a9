# The warden of a private server. It is run as: sh -c <this> warden SIGNAL DIR INITIALISE SERVE
#
# Standard input is a pipe whose other end the server's owner holds open and
# never writes to. The pipe ends when the owner does, whatever ends it; then the
# server gets SIGNAL, and DIR goes. An owner that ends during INITIALISE is
# noticed right after it.
signal=$1 dir=$2
trap 'rm -rf "$dir"' EXIT
exec 3<&0 </dev/null

eval "$3" || exit
while :; do
	eval "exec $4" 3<&- &
	server=$!
	echo $server >"$dir/server"

	# Again and again, because a server that has only just begun may miss a signal;
	# and a server that a test has stopped must go on to hear it.
	{ read -r _ <&3; while kill -s "$signal" $server && kill -s CONT $server; do sleep 0.1; done; } 2>/dev/null &
	reader=$!

	wait $server
	status=$?
	kill $reader
	wait $reader
	# A test that kills the server writes a line when it is to begin again, which
	# it may do once this file has gone: nobody else reads the pipe then.
	rm -f "$dir/server"
	[ -e "$dir/again" ] && read -r _ <&3 || exit $status
done
