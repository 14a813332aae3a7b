// Package otel has the name that PromQL's engine mentions of OpenTelemetry's package.
package otel

import "go.opentelemetry.io/otel/trace"

// Tracer returns a tracer whose spans record nothing, as the package does in a program that sets no
// provider.
func Tracer(string) trace.Tracer { return trace.Tracer{} }
