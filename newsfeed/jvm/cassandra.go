package jvm

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/gocql/gocql"

	"plimsoll/newsfeed/server"
	"plimsoll/target/lab"
)

var cassandra = &product{
	name: "cassandra", title: "Cassandra", jar: "cassandra-all-5.0.4.jar", heap: 512,
	command: cassandraCommand, ready: cassandraReady, describe: cassandraDescribe,
}

// StartCassandra starts a node of Cassandra that is a cluster by itself. A server that an earlier,
// killed program left on the same directory is ended first.
func StartCassandra(ctx context.Context, conf Config) (*Server, error) {
	return start(ctx, cassandra, conf)
}

// cassandraModules opens the parts of Java that Cassandra 5.0 needs on Java 17, as its own file
// jvm17-server.options lists them.
var cassandraModules = strings.Fields(`
--add-exports=java.base/jdk.internal.misc=ALL-UNNAMED --add-exports=java.management.rmi/com.sun.jmx.remote.internal.rmi=ALL-UNNAMED
--add-exports=java.rmi/sun.rmi.registry=ALL-UNNAMED --add-exports=java.rmi/sun.rmi.server=ALL-UNNAMED
--add-exports=java.sql/java.sql=ALL-UNNAMED --add-exports=java.base/java.lang.ref=ALL-UNNAMED
--add-exports=jdk.unsupported/sun.misc=ALL-UNNAMED --add-exports=jdk.compiler/com.sun.tools.javac.file=ALL-UNNAMED
--add-exports=jdk.attach/sun.tools.attach=ALL-UNNAMED
--add-opens=java.base/java.lang.module=ALL-UNNAMED --add-opens=java.base/jdk.internal.loader=ALL-UNNAMED
--add-opens=java.base/jdk.internal.ref=ALL-UNNAMED --add-opens=java.base/jdk.internal.reflect=ALL-UNNAMED
--add-opens=java.base/jdk.internal.math=ALL-UNNAMED --add-opens=java.base/jdk.internal.module=ALL-UNNAMED
--add-opens=java.base/jdk.internal.util.jar=ALL-UNNAMED --add-opens=jdk.management/com.sun.management.internal=ALL-UNNAMED
--add-opens=java.base/sun.nio.ch=ALL-UNNAMED --add-opens=java.base/java.io=ALL-UNNAMED
--add-opens=java.base/java.lang.reflect=ALL-UNNAMED --add-opens=jdk.compiler/com.sun.tools.javac=ALL-UNNAMED
--add-opens=java.base/java.lang=ALL-UNNAMED --add-opens=java.base/java.util=ALL-UNNAMED
-Djdk.attach.allowAttachSelf=true -Dio.netty.tryReflectionSetAccessible=true`)

const cassandraLogging = `<configuration>
  <appender name="out" class="ch.qos.logback.core.ConsoleAppender"><encoder><pattern>%-5level %date{ISO8601} %msg%n</pattern></encoder></appender>
  <root level="INFO"><appender-ref ref="out"/></root>
</configuration>
`

func cassandraCommand(s *Server) ([]string, error) {
	agents, err := filepath.Glob(filepath.Join(s.home, "lib", "jamm-*.jar"))
	if err != nil || len(agents) != 1 {
		return nil, fmt.Errorf("%d archives are called jamm, want 1", len(agents))
	}
	text := settingsText(": ", s.conf.Settings, map[string]string{
		"cluster_name":           "plimsoll",
		"num_tokens":             "16",
		"partitioner":            "org.apache.cassandra.dht.Murmur3Partitioner",
		"commitlog_sync":         "periodic",
		"commitlog_sync_period":  "10s", // as in its own file
		"data_file_directories":  "[" + quote(s.file("data", "tables")) + "]",
		"commitlog_directory":    quote(s.file("data", "commitlog")),
		"hints_directory":        quote(s.file("data", "hints")),
		"saved_caches_directory": quote(s.file("data", "caches")),
		"cdc_raw_directory":      quote(s.file("data", "cdc")),
		"listen_address":         s.conf.Addr,
		"storage_port":           fmt.Sprint(s.port + 1),
		"rpc_address":            s.conf.Addr,
		"native_transport_port":  fmt.Sprint(s.port),
		"start_native_transport": "true",
		"endpoint_snitch":        "SimpleSnitch",
		"auto_bootstrap":         "false",
		"seed_provider":          `[{class_name: org.apache.cassandra.locator.SimpleSeedProvider, parameters: [{seeds: "` + s.node() + `"}]}]`,
	})
	if err := errors.Join(s.write("cassandra.yaml", text), s.write("logback.xml", cassandraLogging)); err != nil {
		return nil, err
	}
	args := append([]string{"-javaagent:" + agents[0]}, cassandraModules...)
	return append(
		args,
		"-Dcassandra.config="+(&url.URL{
			Scheme: "file",
			Path:   s.file("config", "cassandra.yaml"),
		}).String(),
		"-Dlogback.configurationFile="+s.file("config", "logback.xml"),
		"-Dcassandra.storagedir="+s.file("data"),
		"-Dcassandra.logdir="+s.conf.Dir,
		"-Dcassandra-foreground=yes",
		// no other node joins
		"-Dcassandra.skip_wait_for_gossip_to_settle=0",
		"-Dcassandra.ring_delay_ms=100",
		"org.apache.cassandra.service.CassandraDaemon",
	), nil
}

// cql runs fn in a session of its own.
func (s *Server) cql(fn func(*gocql.Session) error) error {
	conf := gocql.NewCluster(s.Addr())
	conf.ProtoVersion, conf.Consistency = 4, gocql.One
	conf.ConnectTimeout, conf.Timeout = probeTimeout, probeTimeout
	conf.DisableInitialHostLookup, conf.NumConns = true, 1
	conf.Logger = server.NoLog{}
	session, err := conf.CreateSession()
	if err != nil {
		return err
	}
	defer session.Close()
	return fn(session)
}

func cassandraReady(ctx context.Context, s *Server) error {
	return s.cql(func(c *gocql.Session) error {
		var version string
		return c.Query("SELECT release_version FROM system.local").WithContext(ctx).Scan(&version)
	})
}

func cassandraDescribe(ctx context.Context, s *Server) (lab.ProgramInfo, error) {
	d := lab.ProgramInfo{Settings: map[string]string{}}
	err := s.cql(func(c *gocql.Session) (err error) {
		d.Version, err = server.DescribeCassandra(ctx, c, d.Settings)
		return err
	})
	return d, err
}
