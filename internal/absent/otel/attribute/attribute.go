// Package attribute has the names that PromQL's engine mentions of OpenTelemetry's package.
package attribute

// KeyValue would be a fact about a span.
type KeyValue struct{}

// String drops its value.
func String(_, _ string) KeyValue { return KeyValue{} }

// Int drops its value.
func Int(string, int) KeyValue { return KeyValue{} }

// Float64 drops its value.
func Float64(string, float64) KeyValue { return KeyValue{} }
