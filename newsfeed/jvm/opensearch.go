package jvm

import (
	"context"
	"errors"
	"fmt"

	"plimsoll/newsfeed/server"
	"plimsoll/target/lab"
)

var openSearch = &product{
	name:     "opensearch",
	title:    "OpenSearch",
	jar:      "opensearch-2.19.2.jar",
	starter:  "OneNode",
	heap:     384,
	command:  openSearchCommand,
	ready:    openSearchReady,
	describe: openSearchDescribe,
}

// StartOpenSearch starts a node of OpenSearch that is a cluster by itself. It makes no index by
// itself when a document comes. It has the server's own analyzers and no plugin. A server that an
// earlier, killed program left on the same directory is ended first.
func StartOpenSearch(ctx context.Context, conf Config) (*Server, error) {
	return start(ctx, openSearch, conf)
}

const openSearchLogging = `status = error
appender.out.type = Console
appender.out.name = out
appender.out.layout.type = PatternLayout
appender.out.layout.pattern = %-5p %d{ISO8601} %c{1} %m%n
rootLogger.level = info
rootLogger.appenderRef.out.ref = out
`

func openSearchCommand(s *Server) ([]string, error) {
	text := settingsText(": ", s.conf.Settings, map[string]string{
		"cluster.name":             "plimsoll",
		"node.name":                "one",
		"discovery.type":           "single-node",
		"network.host":             s.conf.Addr,
		"path.data":                quote(s.file("data")),
		"path.logs":                quote(s.file("logs")),
		"http.type":                "netty4",
		"transport.type":           "netty4",
		"http.port":                fmt.Sprint(s.port),
		"transport.port":           fmt.Sprint(s.port + 1),
		"action.auto_create_index": "false",
		// It would refuse writes once the whole disk, which is not its own, is 95 % full.
		"cluster.routing.allocation.disk.threshold_enabled": "false",
	})
	if err := errors.Join(s.write("opensearch.yml", text), s.write("log4j2.properties", openSearchLogging)); err != nil {
		return nil, err
	}
	return []string{
		"-Dlog4j2.configurationFile=" + s.file(
			"config",
			"log4j2.properties",
		), "-Dlog4j.shutdownHookEnabled=false", "-Dlog4j2.disable.jmx=true",
		"-Dio.netty.noUnsafe=true", "-Dio.netty.noKeySetOptimization=true", "-Dio.netty.recycler.maxCapacityPerThread=0",
		s.product.starter, s.conf.Dir,
	}, nil
}

// get reads a page of the server into v, unless that is nil.
func (s *Server) get(ctx context.Context, path string, v any) error {
	return server.GetOpenSearch(ctx, s.Addr(), path, v)
}

func openSearchReady(ctx context.Context, s *Server) error {
	return s.get(ctx, "/_cluster/health?wait_for_status=yellow&timeout=1s", nil)
}

func openSearchDescribe(ctx context.Context, s *Server) (lab.ProgramInfo, error) {
	d := lab.ProgramInfo{Settings: map[string]string{}}
	var about struct {
		Version struct {
			Number string `json:"number"`
		} `json:"version"`
	}
	if err := s.get(ctx, "/", &about); err != nil {
		return d, err
	}
	d.Version = about.Version.Number
	var indexes map[string]server.IndexSettings
	if err := s.get(ctx, "/_settings?include_defaults=true&flat_settings=true", &indexes); err != nil {
		return d, err
	}
	for name, index := range indexes {
		for _, key := range []string{"refresh_interval", "translog.durability"} {
			if v := index.Of(key); v != "" {
				d.Settings[name+"."+key] = v
			}
		}
	}
	return d, nil
}
