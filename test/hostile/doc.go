// Package hostile tests leases and segments with databases and sessions that do not do
// what a program expects. For instance, autocommit is off, the application leaves
// transactions open, triggers change rows, the redo log stalls before a crash, or an
// older dump is restored.
//
// The tests decide on the ids alone. Two programs share one worker number and
// record every id that they issue. Each test then counts the ids that were issued
// more than once; the count must be zero. A setting may end in one of two ways:
// it works, and both programs get ids, or Open refuses it with an error that
// names it.
//
// The default run takes less than 1.5 minutes for each server. Longer runs, 10 s
// for each setting:
//
//	SNOWKEY_HOSTILE=long go test -v -timeout 1h ./test/hostile
package hostile
