//go:build go1.27

package main

import "uuid"

func init() {
	stdUUID = func(n int) error {
		for range n {
			uuid.NewV7()
		}
		return nil
	}
}
