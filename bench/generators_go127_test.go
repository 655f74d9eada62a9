//go:build go1.27

package main

import "uuid"

func init() {
	stdUUID = func() { uuid.NewV7() }
}
