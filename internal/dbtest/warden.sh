# The warden of a private server. It is run as:
# sh -c <this> warden SIGNAL DIR INITIALISE SERVE
#
# Standard input is a pipe whose other end is held open by the owner of the server. When
# the owner ends, the kernel closes the pipe, which makes the warden send SIGNAL to the
# server and remove DIR. If this happens during INITIALISE, the warden only notices once
# that is done.
#
# A test that kills the server creates DIR/keep, so that another warden can start it again.
signal=$1 dir=$2
trap '[ -e "$dir/keep" ] || rm -rf "$dir"' EXIT
exec 3<&0 </dev/null

eval "$3" || exit
[ -d "$dir/data" ] || {
	echo "the initialisation left no data directory: $3"
	exit 1
}
eval "exec $4" 3<&- &
server=$!
echo $server >"$dir/server"

# Keep repeating the signal, since a server that has just started may miss it. If a
# test has stopped the server, it must be continued to receive the signal at all.
{
	read -r _ <&3
	rm -f "$dir/keep"
	while kill -s "$signal" $server && kill -s CONT $server; do sleep 0.1; done
} 2>/dev/null &
reader=$!

wait $server
status=$?
kill $reader
wait $reader
rm -f "$dir/server"
exit $status
