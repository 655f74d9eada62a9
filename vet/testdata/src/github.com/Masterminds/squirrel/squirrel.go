// Package squirrel stands for the builder of SQL.
package squirrel

type InsertBuilder struct{}

func Insert(into string) InsertBuilder { return InsertBuilder{} }

func (b InsertBuilder) Prefix(sql string, args ...any) InsertBuilder { return b }
func (b InsertBuilder) Columns(columns ...string) InsertBuilder      { return b }
func (b InsertBuilder) Values(values ...any) InsertBuilder           { return b }
func (b InsertBuilder) Exec() error                                  { return nil }
