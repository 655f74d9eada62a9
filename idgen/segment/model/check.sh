#!/bin/sh
# Searches the model of a Segment's gate for errors. The model itself must not have any, but each of its broken variants must.
#
#	idgen/segment/model/check.sh         takes 15 seconds on two cores, and 2 GB; this is what CI runs
#	idgen/segment/model/check.sh full    larger bounds: takes a minute and a half, and up to 8 GB
#
# It fails if the result for any configuration isn't the expected one. Set JOBS to the number of searches to run at a time.
model=gate.pml
. "$(dirname "$0")/../../../internal/spin/search.sh"

long="-DFIRST=5 -DSECOND=1 -DAPPENDS=0"
if [ $size = ci ]; then
	jobs=${JOBS:-2} memory=1000 hash=22 optimise=-O2
	run sound 'two callers, 3 and 2 calls' -DFIRST=3 -DSECOND=2 -DAPPENDS=0
	run sound 'two callers, 5 and 1 calls' $long
	run sound 'two callers and an append, 2, 1 and 1 calls' -DFIRST=2 -DSECOND=1 -DAPPENDS=1
else
	jobs=${JOBS:-1} memory=8000 hash=26 optimise=-O2
	run sound 'two callers, 3 calls each' -DFIRST=3 -DSECOND=3 -DAPPENDS=0
	run sound 'two callers and two appends' -DFIRST=1 -DSECOND=1 -DAPPENDS=2
	run sound 'two callers and an append, 2, 2 and 1 calls' -DFIRST=2 -DSECOND=2 -DAPPENDS=1
fi

finish
memory=1000 hash=22 optimise=-Og
run caught 'opened while late calls are awaited' -DBROKEN_NO_WAIT
run caught 'opened before it is known where it ends' -DBROKEN_OPEN_FIRST
run caught 'opened with the late calls of before' $long -DBROKEN_NO_RESET
run caught 'shut where late calls may be confused' -DBROKEN_SHUT_NEAR
run caught 'a late call that compares after it said that it does not' -DBROKEN_COUNT_FIRST
run caught 'a call counted that is not awaited' -DBROKEN_COUNT_FAR

finish
result
