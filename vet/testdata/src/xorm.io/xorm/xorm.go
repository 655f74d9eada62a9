// Package xorm stands for xorm.
package xorm

type Engine struct{}

func (e *Engine) Insert(beans ...any) (int64, error) { return 0, nil }
func (e *Engine) InsertOne(bean any) (int64, error)  { return 0, nil }
func (e *Engine) Update(bean any) (int64, error)     { return 0, nil }
func (e *Engine) Sync(beans ...any) error            { return nil }
