// Package pk stands for Snowkey's.
package pk

type ID int64

func (id ID) Int64() int64                 { return int64(id) }
func (id ID) String() string               { return "" }
func (id ID) MarshalJSON() ([]byte, error) { return nil, nil }

type Of[T any] int64

func (id Of[T]) Int64() int64 { return int64(id) }

func Parse(text string) (ID, error) { return 0, nil }

type String string
