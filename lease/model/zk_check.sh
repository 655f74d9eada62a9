model=lease.pml
. "$(dirname "$0")/../../internal/spin/search.sh"
lost="-DFAILOVERS=1 -DWINDOW=0"; jobs=1 memory=900 hash=22 optimise=-O2
	run sound 'ZooKeeper: commits lost, next clock behind' -DZNODES $lost -DFINGERPRINT -DTOKENS=2 -DEND=3 -DSKEW=1
	run sound 'ZooKeeper: commits lost, and an election' -DZNODES $lost -DFINGERPRINT -DVIEWS=1 -DTOKENS=2 -DEND=2
	run sound 'ZooKeeper: row and namespace deleted' -DZNODES -DFINGERPRINT -DDELETES=2 -DTOKENS=2 -DEND=2
finish; memory=900 hash=22 optimise=-Og
run caught 'ZooKeeper: the version is the only condition' -DZNODES $lost -DFINGERPRINT -DTOKENS=3 -DEND=2 -DBROKEN_NO_ERA
run caught 'ZooKeeper: applied in any epoch' -DZNODES $lost -DFINGERPRINT -DTOKENS=3 -DEND=2 -DBROKEN_ANY_EPOCH
run caught 'ZooKeeper: applied to the next node of the name' -DZNODES -DFINGERPRINT -DDELETES=1 -DTOKENS=2 -DEND=2 -DBROKEN_ANY_NODE
run caught "ZooKeeper: applied at the time of the sender's host" -DZNODES $lost -DFINGERPRINT -DTOKENS=3 -DEND=2 -DBROKEN_HOST_TIME
run caught 'outside: ZooKeeper, an older copy restored without an election' -DZNODES $lost -DFINGERPRINT -DTOKENS=3 -DEND=1 -DLIMIT_SAME_FINGERPRINT
finish
result
