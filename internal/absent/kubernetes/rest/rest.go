// Package rest has the names that Prometheus's logging mentions of the Kubernetes client's package.
package rest

import "context"

// WarningHandlerWithContext hears the warnings of a Kubernetes API server.
type WarningHandlerWithContext interface {
	HandleWarningHeaderWithContext(ctx context.Context, code int, agent, text string)
}

// WarningLogger drops all warnings: there is no API server.
type WarningLogger struct{}

// HandleWarningHeaderWithContext does nothing.
func (WarningLogger) HandleWarningHeaderWithContext(context.Context, int, string, string) {}
