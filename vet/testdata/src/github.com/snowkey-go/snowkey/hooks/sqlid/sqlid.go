// Package sqlid stands for Snowkey's.
package sqlid

import "context"

func Fill(ctx context.Context, rows any) error { return nil }
