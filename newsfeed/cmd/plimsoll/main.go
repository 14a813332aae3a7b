// Command plimsoll is plimsoll with one more kind of server, the news feed: all verbs of the
// product, which know its behavior, its driver and its graphs, and the verb newsfeed, which runs
// its reference server.
package main

import (
	"context"
	"io"
	"os"

	"plimsoll"
	"plimsoll/newsfeed"
	"plimsoll/newsfeed/driver"
	"plimsoll/newsfeed/perf"
	"plimsoll/newsfeed/server"
	"plimsoll/run/deploy"
	"plimsoll/run/health/sources"
)

func main() {
	os.Exit(plimsoll.Main(plimsoll.Service{
		Dialect:   newsfeed.Dialect,
		Drivers:   map[string]deploy.OwnDriver{newsfeed.Driver: driver.New()},
		Telemetry: map[string]sources.Telemetry{newsfeed.Driver: driver.Telemetry},
		Servers: []plimsoll.ServerVerb{{
			Name: newsfeed.Driver, Args: "[store|perf]", Run: serve, BadUsage: server.ErrUsage,
			Short: "the reference news feed by itself, one of its own stores, " +
				"or the figures per minute from its telemetry",
		}},
	}))
}

// serve runs the reference news feed, one of its own stores, or the reader of its telemetry.
func serve(ctx context.Context, args []string, env func(string) string,
	stdout, stderr io.Writer) error {
	if len(args) > 0 && args[0] == "perf" {
		return perf.Main(ctx, args[1:], env, stdout, stderr)
	}
	return server.Main(ctx, args, env, stdout, stderr)
}
