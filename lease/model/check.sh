#!/bin/sh
# Searches the model of the lease protocol: the protocol must have no error, each broken variant of it must have one.
#
#	lease/model/check.sh         two minutes on two cores and 1 GB; what CI runs
#	lease/model/check.sh full    bigger bounds: half an hour, and up to 4 GB
#
# It fails if a configuration does not have the expected result. JOBS is how many run at a time.
model=lease.pml
. "$(dirname "$0")/../../internal/spin/search.sh"

lost="-DFAILOVERS=1 -DWINDOW=0"
steps="-DSTEPS -DSKEW=1 -DWINDOW=0"
noclock="-DHOST_CLOCKS -DSKEW=1"
reply="-DFINGERPRINT -DREPLY_FINGERPRINT"
read="-DREAD_TIME"
volatile="-DVOLATILE -DCRASHES=1 -DWINDOW=0"
sql="-DSQL -DOWNERS=1"
postgres="$sql -DUNLOGGED -DFINGERPRINT"
dropped="-DDROPS=1 -DFINGERPRINT"
past="-DPAST"
if [ $size = ci ]; then
	jobs=${JOBS:-2} memory=900 hash=22 optimise=-O2
	run sound 'two owners' -DTOKENS=4 -DCOUNTERS=3
	run sound 'three owners' -DOWNERS=3 -DTOKENS=4 -DCOUNTERS=2
	run sound 'row deleted' -DDELETES=1 -DTOKENS=3 -DEND=2
	run sound 'row and namespace deleted' -DFINGERPRINT -DDELETES=2 -DTOKENS=3 -DEND=2
	run sound 'row deleted, clock goes back' $steps -DDELETES=1 -DTOKENS=3 -DEND=3
	run sound 'row and namespace deleted, clock goes back' $steps -DFINGERPRINT -DDELETES=2 -DTOKENS=2 -DEND=2
	run sound 'file deleted, clock goes back' $steps -DFILE -DFINGERPRINT -DDELETES=2 -DTOKENS=2 -DEND=3
	run sound 'two crashes' -DCRASHES=2 -DTOKENS=3 -DCOUNTERS=3
	run sound 'crash, row deleted' -DCRASHES=1 -DDELETES=1 -DTOKENS=3 -DEND=2
	run sound 'crash, row and namespace deleted' -DCRASHES=1 -DFINGERPRINT -DDELETES=2 -DTOKENS=2 -DEND=2
	run sound 'store becomes volatile, crash' $volatile -DTOKENS=3 -DEND=2
	run sound 'store becomes volatile, crash, durable again' $volatile -DCURED -DNO_HOLDOFF -DTOKENS=3 -DEND=2
	run sound 'commits lost' $lost -DFINGERPRINT -DTOKENS=3 -DEND=2
	run sound 'commits lost, next clock behind' $lost -DFINGERPRINT -DTOKENS=2 -DEND=3 -DSKEW=1
	run sound 'commits lost, row and namespace lost' $lost -DFINGERPRINT -DDELETES=2 -DTOKENS=2 -DEND=2 -DSKEW=1
	run sound 'commits of a cluster lost, next clock behind' $lost -DFINGERPRINT -DVIEWS=1 -DTOKENS=2 -DEND=3 -DSKEW=1
	run sound 'commits lost, hold-off, next clock behind' $lost -DHOLDOFF -DTOKENS=3 -DEND=4 -DSKEW=1
	run sound 'time of the read, row deleted' $read -DDELETES=1 -DTOKENS=3 -DEND=2
	run sound 'time of the read, row and namespace deleted, clock goes back' $read $steps -DFINGERPRINT -DDELETES=1 -DTOKENS=2 -DEND=2
	run sound 'time of the read, file deleted, clock goes back' $read $steps -DFILE -DFINGERPRINT -DDELETES=1 -DTOKENS=1 -DEND=2
	run sound 'time of the read, commits lost, next clock behind' $read $lost -DFINGERPRINT -DTOKENS=2 -DEND=3 -DSKEW=1
	run sound 'time of the read, commits lost, hold-off, next clock behind' $read $lost -DHOLDOFF -DTOKENS=3 -DEND=3 -DSKEW=1
	run sound 'no clock, row deleted' $noclock -DDELETES=1 -DTOKENS=2 -DEND=2
	run sound 'no clock, commits lost' $lost $noclock $reply -DTOKENS=2 -DEND=3
	run sound 'no clock, commits lost, hold-off, claims executed late' $lost $noclock -DHOLDOFF -DTOKENS=3 -DEND=3 -DTTL=2
	run sound 'no clock, commits lost, hold-off' $lost $noclock -DHOLDOFF -DTOKENS=3 -DEND=3
	run sound 'ZooKeeper: commits lost, next clock behind' -DZNODES $lost -DFINGERPRINT -DTOKENS=2 -DEND=2 -DSKEW=1
	run sound 'ZooKeeper: row or namespace deleted' -DZNODES -DFINGERPRINT -DDELETES=1 -DTOKENS=2 -DEND=2
	run sound 'SQL writers: row deleted' $sql -DDELETES=1 -DTOKENS=2 -DEND=2
	run sound 'SQL writers: row deleted, clock goes back' $sql $steps -DDELETES=1 -DTOKENS=1 -DEND=3
	run sound 'SQL writers: row and namespace deleted' $sql -DFINGERPRINT -DDELETES=2 -DTOKENS=1 -DEND=2
	run sound 'SQL writers: two crashes' $sql -DCRASHES=2 -DTOKENS=2 -DCOUNTERS=3
	run sound 'SQL writers: commits lost, next clock behind' $sql $lost -DFINGERPRINT -DTOKENS=1 -DEND=3 -DSKEW=1
	run sound 'SQL writers: sequence dropped' $sql $dropped -DTOKENS=1 -DEND=2
	run sound 'SQL writers: older dump restored in place' $sql $lost -DLIVE -DFINGERPRINT -DTOKENS=1 -DEND=2
	run sound 'PostgreSQL writers: row deleted' $postgres -DDELETES=1 -DTOKENS=1 -DEND=2
	run sound 'PostgreSQL writers: row and namespace deleted' $postgres -DDELETES=2 -DTOKENS=1 -DEND=2
	run sound 'PostgreSQL writers: crash, clock behind' $postgres -DCRASHES=1 -DWINDOW=0 -DTOKENS=1 -DEND=3 -DSKEW=1
	run sound 'PostgreSQL writers: two crashes' $postgres -DCRASHES=2 -DTOKENS=1 -DEND=2
	run sound 'PostgreSQL writers: commits lost, next clock behind' $postgres $lost -DTOKENS=1 -DEND=3 -DSKEW=1
	run sound 'PostgreSQL writers: crash and commits lost' $postgres -DCRASHES=1 $lost -DTOKENS=1 -DEND=2
	run sound 'PostgreSQL writers: sequence dropped' $postgres -DDROPS=1 -DTOKENS=1 -DEND=2
	run sound 'PostgreSQL writers: older dump restored in place' $postgres $lost -DLIVE -DTOKENS=1 -DEND=2
	run sound 'backfill: two owners' $past -DTOKENS=3 -DCOUNTERS=3
	run sound 'backfill: row freed by hand' $past -DFREES -DTOKENS=3 -DCOUNTERS=3
	run sound 'backfill: two crashes' $past -DOWNERS=1 -DCRASHES=2 -DTOKENS=3 -DCOUNTERS=3
	run sound 'backfill: store becomes volatile, crash' $past -DOWNERS=1 $volatile -DTOKENS=2 -DEND=2
	run sound 'backfill: commits lost, two owners' $past $lost -DFINGERPRINT -DTOKENS=2 -DEND=2
	run sound 'backfill: commits lost, next clock behind' $past $lost -DOWNERS=1 -DFINGERPRINT -DTOKENS=2 -DEND=3 -DSKEW=1
	run sound 'backfill: time of the read, commits lost' $past $read $lost -DOWNERS=1 -DFINGERPRINT -DTOKENS=2 -DEND=2 -DSKEW=1
	run sound 'backfill: no clock, commits lost' $past $lost $noclock $reply -DOWNERS=1 -DTOKENS=2 -DEND=3
	run sound 'backfill: ZooKeeper, commits lost' $past -DZNODES $lost -DOWNERS=1 -DFINGERPRINT -DTOKENS=2 -DEND=2 -DSKEW=1
else
	jobs=${JOBS:-1} memory=6000 hash=26 optimise=-O2
	run sound 'two owners, 5 tokens, 3 counters' -DTOKENS=5 -DCOUNTERS=3
	run sound 'two owners, 6 tokens, 2 counters' -DTOKENS=6 -DCOUNTERS=2
	run sound 'three owners, 5 tokens, 2 counters' -DOWNERS=3 -DTOKENS=5 -DCOUNTERS=2
	run sound 'three owners, 4 tokens, 4 counters' -DOWNERS=3 -DTOKENS=4 -DCOUNTERS=4
	run sound 'row deleted twice' -DDELETES=2 -DTOKENS=4 -DEND=2
	run sound 'row deleted, three owners' -DOWNERS=3 -DDELETES=1 -DTOKENS=3 -DEND=3
	run sound 'row and namespace deleted, three times' -DFINGERPRINT -DDELETES=3 -DTOKENS=3 -DEND=2
	run sound 'row and namespace deleted, three owners' -DFINGERPRINT -DOWNERS=3 -DDELETES=2 -DTOKENS=3 -DEND=2
	run sound 'row or namespace deleted, both created at now' -DFINGERPRINT -DDELETES=1 -DWINDOW=0 -DTOKENS=3 -DLIMIT_CREATE_COARSE
	run sound 'crash, 4 tokens' -DCRASHES=1 -DTOKENS=4 -DCOUNTERS=3
	run sound 'crash, three owners' -DCRASHES=1 -DOWNERS=3 -DTOKENS=3 -DCOUNTERS=3
	run sound 'three crashes' -DCRASHES=3 -DTOKENS=4 -DCOUNTERS=2
	run sound 'crash, row deleted twice' -DCRASHES=1 -DDELETES=2 -DTOKENS=3 -DEND=2
	run sound 'crash, row or namespace deleted' -DCRASHES=1 -DFINGERPRINT -DDELETES=1 -DTOKENS=3 -DEND=2
	run sound 'crash, clock behind, row deleted' -DCRASHES=1 -DDELETES=1 -DWINDOW=0 -DTOKENS=3 -DEND=3 -DSKEW=1
	run sound 'file deleted or copied, clock goes back' $steps -DFILE -DFINGERPRINT -DDELETES=1 -DFAILOVERS=1 -DTOKENS=2 -DEND=3
	run sound 'crash and commits lost, clock behind' -DCRASHES=1 $lost -DFINGERPRINT -DTOKENS=2 -DEND=3 -DSKEW=1
	run sound 'crash and commits lost' -DCRASHES=1 $lost -DFINGERPRINT -DTOKENS=3 -DEND=2
	run sound 'store becomes volatile, crash' $volatile -DTOKENS=3 -DEND=3
	run sound 'store becomes volatile, two crashes' -DVOLATILE -DCRASHES=2 -DWINDOW=0 -DTOKENS=3 -DEND=2
	run sound 'store becomes volatile, crash, durable again' $volatile -DCURED -DNO_HOLDOFF -DTOKENS=3 -DEND=3
	run sound 'store becomes volatile, crash that changes the fingerprint' $volatile -DCURED -DFINGERPRINT -DCRASH_CHANGES_FINGERPRINT -DTOKENS=3 -DEND=3
	run sound 'commits lost, wider window, longer' -DFAILOVERS=1 -DWINDOW=1 -DFINGERPRINT -DTOKENS=3 -DEND=3
	run sound 'commits lost, 4 tokens' $lost -DFINGERPRINT -DTOKENS=4 -DEND=2
	run sound 'commits lost, next clock behind' $lost -DFINGERPRINT -DTOKENS=3 -DEND=3 -DSKEW=1
	run sound 'commits lost, three owners' $lost -DFINGERPRINT -DOWNERS=3 -DTOKENS=3 -DEND=2
	run sound 'commits of a cluster lost' $lost -DFINGERPRINT -DVIEWS=1 -DTOKENS=3 -DEND=2
	run sound 'commits lost twice' -DFAILOVERS=2 -DWINDOW=0 -DFINGERPRINT -DTOKENS=3 -DEND=2
	run sound 'commits lost, row or namespace lost' $lost -DFINGERPRINT -DDELETES=1 -DTOKENS=3 -DEND=2 -DSKEW=1
	run sound 'commits lost, row and namespace lost' $lost -DFINGERPRINT -DDELETES=2 -DTOKENS=2 -DEND=3 -DSKEW=1
	run sound 'commits lost, row or namespace lost, fenced at any time' $lost -DFINGERPRINT -DDELETES=1 -DTOKENS=2 -DEND=3 -DSKEW=1 -DBY_HAND
	run sound 'commits lost, hold-off, next clock behind' $lost -DHOLDOFF -DTOKENS=4 -DEND=4 -DSKEW=1
	run sound 'commits lost, hold-off, row lost' $lost -DHOLDOFF -DDELETES=1 -DTOKENS=3 -DEND=3 -DSKEW=1
	run sound 'commits lost twice, hold-off' -DFAILOVERS=2 -DWINDOW=0 -DHOLDOFF -DTOKENS=4 -DEND=3

	run sound 'no clock, row deleted, longer' $noclock -DDELETES=1 -DTOKENS=3 -DEND=2
	run sound 'no clock, commits lost, 3 tokens' $lost $noclock $reply -DTOKENS=3 -DEND=2
	run sound 'no clock, commits lost, row lost' $lost $noclock $reply -DDELETES=1 -DTOKENS=2 -DEND=2
	run sound 'no clock, commits lost, hold-off, longer' $lost $noclock -DHOLDOFF -DTOKENS=3 -DEND=4
	run sound 'no clock, commits lost, hold-off, claims executed late, longer' $lost $noclock -DHOLDOFF -DTOKENS=3 -DEND=4 -DTTL=2
	run sound 'no clock, commits lost, hold-off, row lost' $lost $noclock -DHOLDOFF -DDELETES=1 -DTOKENS=2 -DEND=3
	run sound 'without spare rules: BROKEN_REVIVE and BROKEN_GAP, no clock' $lost $noclock $reply -DTOKENS=3 -DEND=2 -DBROKEN_REVIVE -DBROKEN_GAP
	run sound 'time of the read, row and namespace deleted, clock goes back' $read $steps -DFINGERPRINT -DDELETES=2 -DTOKENS=2 -DEND=2
	run sound 'time of the read, file deleted, clock goes back' $read $steps -DFILE -DFINGERPRINT -DDELETES=1 -DTOKENS=2 -DEND=2
	run sound 'time of the read, commits lost, 3 tokens' $read $lost -DFINGERPRINT -DTOKENS=3 -DEND=2
	run sound 'ZooKeeper: commits lost, next clock behind, longer' -DZNODES $lost -DFINGERPRINT -DTOKENS=2 -DEND=3 -DSKEW=1
	run sound 'ZooKeeper: commits lost, and an election' -DZNODES $lost -DFINGERPRINT -DVIEWS=1 -DTOKENS=2 -DEND=2
	run sound 'ZooKeeper: row and namespace deleted, clock goes back' -DZNODES $steps -DFINGERPRINT -DDELETES=2 -DTOKENS=2 -DEND=2
	run sound 'ZooKeeper: commits lost, 3 tokens' -DZNODES $lost -DFINGERPRINT -DTOKENS=3 -DEND=2
	run sound 'ZooKeeper: row deleted, 3 tokens' -DZNODES -DFINGERPRINT -DDELETES=1 -DTOKENS=3 -DEND=2

	run sound 'SQL writers: two Go processes' -DSQL -DTOKENS=3 -DCOUNTERS=3
	run sound 'SQL writers: row deleted, two Go processes' -DSQL -DDELETES=1 -DTOKENS=2 -DEND=2
	run sound 'SQL writers: commits lost, 2 tokens' $sql $lost -DFINGERPRINT -DTOKENS=2 -DEND=2
	run sound 'SQL writers: sequence dropped twice' $sql -DDROPS=2 -DFINGERPRINT -DTOKENS=1 -DEND=2
	run sound 'SQL writers: sequence dropped, row deleted' $sql $dropped -DDELETES=1 -DTOKENS=1 -DEND=2
	run sound 'SQL writers: sequence dropped, commits lost' $sql $dropped $lost -DTOKENS=1 -DEND=2
	run sound 'SQL writers: sequence dropped, older dump restored in place' $sql $dropped $lost -DLIVE -DTOKENS=1 -DEND=2

	run sound 'PostgreSQL writers: two Go processes, crash' -DSQL -DUNLOGGED -DFINGERPRINT -DCRASHES=1 -DTOKENS=2 -DEND=2
	run sound 'PostgreSQL writers: row deleted, 2 tokens' $postgres -DDELETES=1 -DTOKENS=2 -DEND=2
	run sound 'PostgreSQL writers: three sessions, row deleted' $postgres -DSESSIONS=3 -DDELETES=1 -DTOKENS=1 -DEND=2
	run sound 'PostgreSQL writers: three sessions, crash' $postgres -DSESSIONS=3 -DCRASHES=1 -DTOKENS=1 -DEND=2
	run sound 'PostgreSQL writers: three sessions, older dump restored in place' $postgres -DSESSIONS=3 $lost -DLIVE -DTOKENS=1 -DEND=2
	run sound 'PostgreSQL writers: two crashes, clock behind' $postgres -DCRASHES=2 -DWINDOW=0 -DTOKENS=1 -DEND=3 -DSKEW=1
	run sound 'PostgreSQL writers: crash, row deleted' $postgres -DCRASHES=1 -DDELETES=1 -DTOKENS=1 -DEND=2
	run sound 'PostgreSQL writers: crash and commits lost, clock behind' $postgres -DCRASHES=1 $lost -DTOKENS=1 -DEND=3 -DSKEW=1
	run sound 'PostgreSQL writers: crash, older dump restored in place' $postgres -DCRASHES=1 $lost -DLIVE -DTOKENS=1 -DEND=2
	run sound 'PostgreSQL writers: crash, sequence dropped' $postgres -DCRASHES=1 -DDROPS=1 -DTOKENS=1 -DEND=2
	run sound 'PostgreSQL writers: commits lost, 2 tokens' $postgres $lost -DTOKENS=2 -DEND=2
	run sound 'PostgreSQL writers: sequence dropped twice' $postgres -DDROPS=2 -DTOKENS=1 -DEND=2
	run sound 'PostgreSQL writers: sequence dropped, row deleted' $postgres -DDROPS=1 -DDELETES=1 -DTOKENS=1 -DEND=2
	run sound 'PostgreSQL writers: sequence dropped, commits lost' $postgres -DDROPS=1 $lost -DTOKENS=1 -DEND=2
	run sound 'PostgreSQL writers: sequence dropped, older dump restored' $postgres -DDROPS=1 $lost -DLIVE -DTOKENS=1 -DEND=2

	# Rules that exist for other reasons: the protocol stays safe without them. README.md says which and why.
	for spare in NO_REVISION ONLY_BOUND LOWER_IN_DOUBT; do
		run sound "without a spare rule: $spare" -DTOKENS=4 -DCOUNTERS=3 -D$spare
		run sound "without a spare rule: $spare, crash" -DCRASHES=1 -DTOKENS=3 -DCOUNTERS=3 -D$spare
		run sound "without a spare rule: $spare, row and namespace deleted" -DFINGERPRINT -DDELETES=2 -DTOKENS=3 -DEND=2 -D$spare
		run sound "without a spare rule: $spare, commits lost" $lost -DFINGERPRINT -DTOKENS=3 -DEND=3 -DSKEW=1 -D$spare
	done
	run sound 'without a spare rule: ADOPT_EXPIRED, commits lost' $lost -DFINGERPRINT -DTOKENS=3 -DEND=3 -DSKEW=1 -DADOPT_EXPIRED
	run sound 'without a spare rule: ANY_LAYOUT, ZooKeeper' -DZNODES $lost -DFINGERPRINT -DTOKENS=3 -DEND=2 -DANY_LAYOUT
	run caught "ZooKeeper: the time of the sender's host" -DZNODES $lost -DFINGERPRINT -DTOKENS=3 -DEND=2 -DBROKEN_HOST_TIME
	run caught 'ZooKeeper: the era is the number of its epoch' -DZNODES $lost -DFINGERPRINT -DVIEWS=1 -DTOKENS=3 -DEND=1 -DWRITES=3 -DBROKEN_ERA_NUMBER
	run sound 'without a spare rule: BROKEN_VOLATILE_RENEW, claims hold off' $volatile -DTOKENS=3 -DEND=3 -DBROKEN_VOLATILE_RENEW
fi

finish
memory=900 hash=22 optimise=-Og
run caught 'renewal of a row that another process holds' -DTOKENS=4 -DBROKEN_RENEW_BLIND
run caught 'renewal with one token for the whole lease, bound set' -DTOKENS=4 -DBROKEN_RENEW_PLAIN
run caught 'renewal that can lower the bound' -DTOKENS=4 -DBROKEN_RENEW_LOWERS
run caught 'renewal without reply taken for success' -DTOKENS=4 -DBROKEN_RENEW_TIMEOUT
run caught 'row of another process adopted after a renewal' -DTOKENS=4 -DBROKEN_ADOPT_ANY
run caught 'a counter issued at the bound' -DTOKENS=4 -DBROKEN_ISSUE_AT_BOUND
run caught 'claim that starts at 0' -DTOKENS=4 -DBROKEN_CLAIM_ZERO
run caught 'claim of a row that was changed since the probe' -DTOKENS=4 -DBROKEN_CLAIM_BLIND
run caught 'claim without reply taken for success' -DTOKENS=4 -DBROKEN_CLAIM_TIMEOUT
run caught 'row of another process adopted after a claim' -DTOKENS=4 -DBROKEN_CLAIM_ADOPT_ANY
run caught 'release of a row that another process holds' -DTOKENS=4 -DBROKEN_RELEASE_BLIND
run caught 'release without a seal' -DTOKENS=4 -DBROKEN_RELEASE_UNSEALED
run caught 'release to the last counter issued' -DTOKENS=4 -DBROKEN_RELEASE_TOO_LOW
run caught 'row deleted, added with the bound 0' -DDELETES=1 -DTOKENS=3 -DBROKEN_ADD_ZERO
run caught 'row deleted, clock goes back, added at the bare cap' $steps -DDELETES=1 -DTOKENS=3 -DEND=3 -DBROKEN_ADD_CAP
run caught 'file deleted, clock goes back, created at the bare cap' $steps -DFILE -DFINGERPRINT -DDELETES=1 -DTOKENS=3 -DEND=3 -DBROKEN_NAMESPACE_CAP
run caught 'crash, clock behind, row deleted, added at the bare cap' -DCRASHES=1 -DDELETES=1 -DWINDOW=0 -DTOKENS=3 -DEND=2 -DSKEW=1 -DBROKEN_ADD_CAP
run caught 'row deleted, claim without the bound seen' -DDELETES=1 -DTOKENS=3 -DBROKEN_CLAIM_BOUND
run caught 'crash, a read extends a lease' -DCRASHES=1 -DTOKENS=3 -DBROKEN_READ_EXTENDS
run caught 'crash, a read grants a claim' -DCRASHES=1 -DTOKENS=3 -DBROKEN_READ_GRANTS
run caught 'store becomes volatile, claims without hold-off go on' $volatile -DTOKENS=3 -DBROKEN_VOLATILE_CLAIM
run caught 'store becomes volatile, renewals without hold-off go on' $volatile -DCURED -DNO_HOLDOFF -DTOKENS=3 -DBROKEN_VOLATILE_RENEW
run caught 'commits lost, no remedy' $lost -DTOKENS=3
run caught 'commits lost, no fence' $lost -DFINGERPRINT -DTOKENS=3 -DBROKEN_NO_FENCE
run caught 'commits lost, fence, no fingerprint in the claim' $lost -DFINGERPRINT -DTOKENS=3 -DBROKEN_CLAIM_FINGERPRINT
run caught 'commits lost, claim without the fence seen' $lost -DFINGERPRINT -DTOKENS=3 -DBROKEN_CLAIM_FENCE
run caught 'commits lost, expired lease revived' $lost -DFINGERPRINT -DTOKENS=3 -DBROKEN_REVIVE
run caught 'commits lost, next clock behind, taken when just expired' $lost -DFINGERPRINT -DTOKENS=3 -DEND=3 -DSKEW=1 -DBROKEN_GAP
run caught 'commits lost, next clock behind, fence at the bare cap' $lost -DFINGERPRINT -DTOKENS=3 -DEND=3 -DSKEW=1 -DBROKEN_MARGIN
run caught 'commits lost, namespace lost, created without a fence' $lost -DFINGERPRINT -DDELETES=1 -DTOKENS=2 -DEND=3 -DSKEW=1 -DBROKEN_NAMESPACE_ZERO
run caught 'commits lost, next clock behind, created at the bare cap' $lost -DFINGERPRINT -DDELETES=1 -DTOKENS=2 -DEND=3 -DSKEW=1 -DBROKEN_NAMESPACE_CAP
run caught 'commits lost, hold-off that grants at once' $lost -DHOLDOFF -DTOKENS=3 -DBROKEN_HOLDOFF_GRANTS
run caught 'commits lost, hold-off, expired lease revived' $lost -DHOLDOFF -DTOKENS=4 -DEND=3 -DBROKEN_REVIVE
run caught 'commits lost, next clock behind, hold-off to the bare cap' $lost -DHOLDOFF -DTOKENS=4 -DEND=3 -DSKEW=1 -DBROKEN_MARGIN
run caught 'ZooKeeper: the version is the only condition' -DZNODES $lost -DFINGERPRINT -DTOKENS=3 -DEND=2 -DBROKEN_NO_ERA
run caught 'ZooKeeper: applied in any epoch' -DZNODES $lost -DFINGERPRINT -DTOKENS=3 -DEND=2 -DBROKEN_ANY_EPOCH
run caught 'ZooKeeper: applied to the next node of the name' -DZNODES -DFINGERPRINT -DDELETES=1 -DTOKENS=2 -DEND=2 -DBROKEN_ANY_NODE
run caught 'time of the read, row deleted, added late' $read -DDELETES=1 -DTOKENS=2 -DEND=2 -DBROKEN_MARK
run caught 'time of the read, file deleted, created late' $read -DFILE -DFINGERPRINT -DDELETES=1 -DTOKENS=2 -DEND=3 -DBROKEN_UNMARKED
run caught 'time of the read, commits lost, renewed late' $read $lost -DFINGERPRINT -DTOKENS=3 -DEND=2 -DBROKEN_READ_FINGERPRINT
run caught 'time of the read, commits lost, hold-off from the read' $read $lost -DHOLDOFF -DTOKENS=4 -DEND=4 -DTTL=2 -DBROKEN_HOLDOFF_SENT
run caught 'SQL writers: a Go process can claim their row' $sql -DTOKENS=1 -DCOUNTERS=3 -DBROKEN_SQL_CLAIMABLE
run caught 'SQL writers: sequence below the bound of the row' $sql -DDELETES=1 -DTOKENS=1 -DEND=2 -DBROKEN_SQL_BOUND
run caught 'SQL writers: row deleted, not read again' $sql -DDELETES=1 -DTOKENS=1 -DEND=2 -DBROKEN_SQL_FOREVER
run caught 'SQL writers: commits lost, sequence below the fence' $sql $lost -DFINGERPRINT -DTOKENS=1 -DEND=2 -DBROKEN_SQL_NO_FENCE
run caught 'SQL writers: commits lost, next clock behind, bare cap' $sql $lost -DFINGERPRINT -DTOKENS=1 -DEND=3 -DSKEW=1 -DBROKEN_MARGIN
run caught 'SQL writers: older dump restored in place, limits kept' $sql $lost -DLIVE -DFINGERPRINT -DTOKENS=1 -DEND=2 -DBROKEN_SQL_BORN
run caught 'PostgreSQL writers: sequence below the bound of the row' $postgres -DDELETES=1 -DTOKENS=1 -DEND=2 -DBROKEN_SQL_BOUND
run caught 'PostgreSQL writers: row deleted, not read again' $postgres -DDELETES=1 -DTOKENS=1 -DEND=2 -DBROKEN_SQL_FOREVER
run caught 'PostgreSQL writers: row deleted, raised tick not full' $postgres -DDELETES=1 -DTOKENS=1 -DEND=2 -DBROKEN_SQL_OPEN_RAISED
run caught 'PostgreSQL writers: crash, history is logged' $postgres -DCRASHES=1 -DTOKENS=1 -DEND=2 -DBROKEN_SQL_LOGGED
run caught 'PostgreSQL writers: crash, clock behind, bare cap' $postgres -DCRASHES=1 -DWINDOW=0 -DTOKENS=1 -DEND=3 -DSKEW=1 -DBROKEN_MARGIN
run caught 'PostgreSQL writers: crash, reservation seen before it is on disk' $postgres -DCRASHES=1 -DTOKENS=1 -DEND=2 -DBROKEN_SQL_ASYNC
run caught 'PostgreSQL writers: commits lost, sequence below the fence' $postgres $lost -DTOKENS=1 -DEND=2 -DBROKEN_SQL_NO_FENCE
run caught 'PostgreSQL writers: sequence dropped, limits of sessions kept' $postgres -DDROPS=1 -DTOKENS=1 -DEND=2 -DBROKEN_SQL_KEPT_LIMIT
run caught 'PostgreSQL writers: sequence dropped, its history trusted' $postgres -DDROPS=1 -DTOKENS=1 -DEND=2 -DBROKEN_SQL_CALLED
run caught 'PostgreSQL writers: sequence dropped while it is used' $postgres -DDROPS=1 -DTOKENS=1 -DEND=2 -DBROKEN_SQL_DROP_EARLY
run caught 'PostgreSQL writers: dump restored in place, limits kept' $postgres $lost -DLIVE -DTOKENS=1 -DEND=2 -DBROKEN_SQL_BORN
run caught 'PostgreSQL writers: dump restored in place, row not checked' $postgres $lost -DLIVE -DTOKENS=1 -DEND=2 -DBROKEN_SQL_UNCHECKED
run caught 'backfill: row that was held' $past -DTOKENS=3 -DCOUNTERS=3 -DBROKEN_PAST_HELD
run caught 'backfill: row freed by hand, bound not raised' $past -DFREES -DOWNERS=1 -DTOKENS=2 -DCOUNTERS=3 -DBROKEN_PAST_BOUND
run caught 'backfill: crash, a read grants' $past -DOWNERS=1 -DCRASHES=1 -DTOKENS=2 -DCOUNTERS=3 -DBROKEN_PAST_READ
run caught 'backfill: commits lost, row older than the fence' $past $lost -DOWNERS=1 -DFINGERPRINT -DTOKENS=2 -DEND=2 -DBROKEN_PAST_FENCE

# What the protocol does not promise.
run caught 'outside: an older dump restored in place, fingerprint unchanged' $lost -DFINGERPRINT -DTOKENS=3 -DLIMIT_SAME_FINGERPRINT
run caught 'outside: ZooKeeper, an older copy restored without an election' -DZNODES $lost -DFINGERPRINT -DTOKENS=3 -DEND=1 -DLIMIT_SAME_FINGERPRINT
run caught 'outside: the same, and the fence raised soon' $lost -DFINGERPRINT -DTOKENS=3 -DLIMIT_SAME_FINGERPRINT -DBY_HAND
run caught 'outside: the number of a view as the fingerprint' $lost -DFINGERPRINT -DVIEWS=1 -DTOKENS=3 -DLIMIT_VIEW_NUMBER
run caught 'outside: crash, then a failover to a standby that has what was lost' -DCRASHES=1 $lost -DFINGERPRINT -DTOKENS=3 -DEND=2 -DLIMIT_STANDBY_AHEAD
run caught 'outside: the same, hold-off' -DCRASHES=1 $lost -DHOLDOFF -DTOKENS=4 -DEND=3 -DLIMIT_STANDBY_AHEAD
run caught 'outside: a row deleted in use, the deletion lost' $lost -DFINGERPRINT -DDELETES=1 -DTOKENS=3 -DEND=1 -DLIMIT_UNDELETE
run caught 'outside: row and namespace lost, both created at now' -DFINGERPRINT -DDELETES=2 -DWINDOW=0 -DTOKENS=2 -DLIMIT_CREATE_COARSE
run caught 'outside: hold-off, crash, and the store is durable again' $volatile -DCURED -DTOKENS=3 -DEND=2
run caught 'outside: the store becomes volatile before a commit' $volatile -DCURED -DNO_HOLDOFF -DTOKENS=3 -DLIMIT_VOLATILE_COMMIT
run caught 'no clock, row deleted, added by the clock of one host' $noclock -DDELETES=1 -DTOKENS=3 -DEND=2 -DBROKEN_ADD_HOST
run caught 'no clock, commits lost, lease of another cluster renewed' $lost $noclock $reply -DTOKENS=3 -DEND=3 -DBROKEN_RENEW_ANY_CLUSTER
run caught 'no clock, commits lost, reply of another cluster believed' $lost $noclock $reply -DTOKENS=3 -DEND=3 -DBROKEN_REPLY_ANY_CLUSTER
run caught 'no clock, commits lost, hold-off, claims executed late, start from when they were sent' $lost $noclock -DHOLDOFF -DTOKENS=4 -DEND=4 -DTTL=2 -DBROKEN_HOLDOFF_SENT
run caught 'outside: no clock, hosts differ by more than SKEW' $lost -DHOST_CLOCKS -DSKEW=0 -DHOST_SKEW=1 $reply -DTOKENS=2 -DEND=3
run caught 'outside: SQL writers, an older dump restored in place' $sql $lost -DFINGERPRINT -DTOKENS=1 -DEND=2 -DLIMIT_SAME_FINGERPRINT
run caught 'outside: backfill, row deleted' $past -DOWNERS=1 -DDELETES=1 -DTOKENS=2 -DEND=2
run caught 'outside: backfill, row freed by hand, and that is lost' $past -DFREES $lost -DOWNERS=1 -DFINGERPRINT -DTOKENS=2 -DEND=2

finish

# The sequence of SQL writers.
model=$(dirname "$model")/sequence.pml
clock="-DSESSIONS=2 -DCRASHES=1 -DWRONG_CLOCK"
run sound 'sequence: three sessions'
run sound 'sequence: crash' -DSESSIONS=2 -DCRASHES=1
run sound 'sequence: crash, clock wrong' $clock
run sound 'sequence: dropped' -DSESSIONS=2 -DDROPS=1
run caught 'sequence: raised without the lock' -DBROKEN_NO_LOCK
run caught 'sequence: unlocked before it is raised' -DBROKEN_EARLY_UNLOCK
run caught 'sequence: lock left behind by a cancelled call' -DBROKEN_KEPT_LOCK
run caught 'sequence: no guard room behind a tick' -DBROKEN_NO_ROOM
run caught 'sequence: less guard room than sessions' -DBROKEN_SMALL_ROOM
run caught 'sequence: drawn without a look at the last value' -DBROKEN_BLIND
run caught 'sequence: follows the clock back' -DBROKEN_CLOCK
run caught 'sequence: dropped, starts at the clock' -DSESSIONS=2 -DDROPS=1 -DBROKEN_FRESH_NOW
run caught 'sequence: dropped, drawn from before it is raised' -DSESSIONS=2 -DDROPS=1 -DBROKEN_FRESH_LOOK
run caught 'sequence: dropped while it is used' -DSESSIONS=2 -DDROPS=1 -DBROKEN_DROP_EARLY
run caught 'sequence: raised to the end of the guard room' -DSESSIONS=2 -DDROPS=1 -DBROKEN_RAISED_ROOM
run caught 'sequence: crash, starts at the clock' -DSESSIONS=2 -DCRASHES=1 -DBROKEN_FRESH_NOW
run caught 'sequence: crash, drawn from before it is raised' -DSESSIONS=2 -DCRASHES=1 -DBROKEN_FRESH_LOOK
run caught 'sequence: crash, survives and is not raised' -DSESSIONS=2 -DCRASHES=1 -DBROKEN_LOGGED
run caught 'sequence: crash, clock wrong, not above the logged counter' $clock -DBROKEN_NO_COUNTER
run caught 'sequence: crash, clock wrong, set before the logged counter' $clock -DBROKEN_ORDER
run caught 'outside: sequence, crash, clock wrong, an id not on disk' $clock -DLIMIT_NO_FLUSH
run sound 'counter of MariaDB: three sessions' -DREGISTER
run sound 'counter of MariaDB: crash' -DREGISTER -DSESSIONS=2 -DCRASHES=1
run sound 'counter of MariaDB: dropped' -DREGISTER -DSESSIONS=2 -DDROPS=1
run caught 'counter of MariaDB: set instead of raised' -DREGISTER -DBROKEN_SET
run caught 'counter of MariaDB: not drawn after it was raised' -DREGISTER -DBROKEN_KEEP
run caught 'counter of MariaDB: dropped, starts at the clock' -DREGISTER -DSESSIONS=2 -DDROPS=1 -DBROKEN_FRESH_NOW
run caught 'counter of MariaDB: dropped while it is used' -DREGISTER -DSESSIONS=2 -DDROPS=1 -DBROKEN_DROP_EARLY
run caught 'counter of MariaDB: crash, COMMIT does not wait for the disk' -DREGISTER -DSESSIONS=2 -DCRASHES=1 -DBROKEN_NO_FLUSH
run caught 'outside: counter of MariaDB, crash, an id used before its commit' -DREGISTER -DSESSIONS=2 -DCRASHES=1 -DLIMIT_UNCOMMITTED

finish
result
