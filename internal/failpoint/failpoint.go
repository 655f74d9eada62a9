// Package failpoint lets tests stop a program at a given point, as if it had been killed
// there, and change the SQL statements it runs. It has no effect unless there's a hook in
// the context.
package failpoint

import "context"

type (
	pointKey     struct{}
	statementKey struct{}
)

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

// WithStatements returns a context with which [Statement] calls change.
func WithStatements(ctx context.Context, change func(string) string) context.Context {
	return context.WithValue(ctx, statementKey{}, change)
}

// Statement returns the statement to run in place of query.
func Statement(ctx context.Context, query string) string {
	if change, ok := ctx.Value(statementKey{}).(func(string) string); ok {
		return change(query)
	}
	return query
}
