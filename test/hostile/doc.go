// Package hostile tests leases and segments with databases and sessions that don't
// behave as a program expects. For example, autocommit is off, the application leaves
// transactions open, or triggers change rows. Older dumps that are restored are tested in
// test/sqlstore.
//
// The outcome of a test depends on nothing but the ids. Two programs share a worker
// number and record every id that they issue. The test then counts ids that were issued
// more than once, of which there must be none. There are two acceptable outcomes for a
// setting: either it works, and both programs get ids, or Open refuses it with an error
// that names the setting.
//
// On each push, the tests try the settings that are marked as fast; at night, all of them
// and for longer.
package hostile
