// Package timesql generates SQL functions for taking ids apart and for turning times into
// ids. They're the SQL counterparts of the methods on [idgen.Layout]:
//
//	snowkey_time(id)       the start of the id's tick, as Layout.Decode
//	snowkey_worker(id)     the worker number; other fields have a function as well
//	snowkey_min_id(time)   the smallest id with the tick of a time, as Layout.MinID
//	snowkey_max_id(time)   the largest one, as Layout.MaxID
//
// All times are UTC.
package timesql
