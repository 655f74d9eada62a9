// Package failpoint lets tests stop a program at a given point, as if it had been killed
// there. It has no effect unless there's a hook in the context.
package failpoint

import "context"

type pointKey struct{}

// WithHook returns a context with which [At] calls hook.
func WithHook(ctx context.Context, hook func(point string) error) context.Context {
	return context.WithValue(ctx, pointKey{}, hook)
}

// At is called by a program at each point where a test may stop it. If At returns an error,
// the program stops with that error. Otherwise it continues.
func At(ctx context.Context, point string) error {
	if hook, ok := ctx.Value(pointKey{}).(func(string) error); ok {
		return hook(point)
	}
	return nil
}
