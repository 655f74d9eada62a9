package autoinc

// Crashing returns options under which Apply stops at a point if hook says so,
// as if it were killed there.
func (o ApplyOptions) Crashing(hook func(point string) error) ApplyOptions {
	o.hook = hook
	return o
}
