// Package gormid stands for Snowkey's.
package gormid

type (
	Model  struct{ ID int64 }
	Config struct{}
	Plugin struct{}
)

func New(Config) *Plugin { return nil }
