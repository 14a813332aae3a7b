package session

import (
	"context"
	"io"
	"maps"

	"plimsoll/dialect"
	"plimsoll/run/deploy"
	"plimsoll/run/health/sources"
)

// A Service is one kind of server: how users load it, and the servers of that kind that the program
// contains. It is a value without state. Names of behaviors, drivers and verbs differ from those of
// the program's other services.
type Service struct {
	// Dialect is required.
	Dialect *dialect.Dialect
	// Drivers deploy the servers, by the names of Dialect.Drivers; nil if there are none. One of a
	// server that the program contains starts the program again, with the verb of the driver's
	// name.
	Drivers map[string]deploy.OwnDriver
	// Telemetry reads the telemetry of servers that have one, by the names of their drivers.
	Telemetry map[string]sources.Telemetry
	// Servers are verbs that run the servers by themselves.
	Servers []ServerVerb
}

// Services are those that a program has.
type Services []Service

// Dialects returns the dialects of the services.
func (all Services) Dialects() (out dialect.Set) {
	for _, s := range all {
		out = append(out, s.Dialect)
	}
	return out
}

// Drivers returns the drivers of the services, by name.
func (all Services) Drivers() map[string]deploy.OwnDriver {
	out := map[string]deploy.OwnDriver{}
	for _, s := range all {
		maps.Copy(out, s.Drivers)
	}
	return out
}

// Telemetry returns the readers of the services' own telemetry, by the names of drivers.
func (all Services) Telemetry() map[string]sources.Telemetry {
	out := map[string]sources.Telemetry{}
	for _, s := range all {
		maps.Copy(out, s.Telemetry)
	}
	return out
}

// A ServerVerb is a verb of the program that runs a server until its context ends.
type ServerVerb struct {
	// Name is the verb, Args its arguments and Short its purpose, as help prints them.
	Name, Args, Short string
	// Run parses args, which may ask for help. Its errors of usage wrap BadUsage.
	Run func(ctx context.Context, args []string, env func(string) string,
		stdout, stderr io.Writer) error
	BadUsage error
}
