package examples

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/program"
)

// A scripted is the cluster of examples/external/local.
type scripted struct {
	t              *testing.T
	dir, net, name string
	env            []string
}

// newScripted returns one whose addresses and names are of this process alone, with two releases.
// Nothing of it is up.
func newScripted(t *testing.T) *scripted {
	t.Helper()
	path, err := program.Build()
	if err != nil {
		t.Fatal(err)
	}
	own := os.Getpid() % 100000
	c := &scripted{
		t:    t,
		dir:  filepath.Join(t.TempDir(), "chat"),
		net:  fmt.Sprintf("198.19.%d", own%250),
		name: fmt.Sprintf("t%05d", own),
	}
	c.env = append(
		os.Environ(),
		"CLUSTER="+c.dir,
		"CLUSTER_NET="+c.net,
		"CLUSTER_NAME="+c.name,
		"PROGRAM="+path,
	)
	// The servers do not run as root, and must reach their programs.
	if err := os.Chmod(filepath.Dir(filepath.Dir(c.dir)), 0o755); err != nil {
		t.Fatal(err)
	}
	server, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, version := range []string{"11.0.0", "11.0.1"} {
		release := filepath.Join(c.dir, "releases", version)
		if err := os.MkdirAll(release, 0o755); err != nil {
			t.Fatal(err)
		}
		script := fmt.Sprintf(
			"#!/bin/sh\nexec ${0%%/*}/plimsoll refchat -version %s \"$@\"\n",
			version,
		)
		for name, content := range map[string][]byte{
			"refchat":  []byte(script),
			"plimsoll": server,
		} {
			if err := os.WriteFile(filepath.Join(release, name), content, 0o755); err != nil {
				t.Fatal(err)
			}
		}
	}
	return c
}

// call carries a script out and returns its output.
func (c *scripted) call(script string, env ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.t.Context()), 10*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "external/local/"+script)
	cmd.Env, cmd.WaitDelay = append(c.env, env...), time.Second
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// must is call of a script that succeeds.
func (c *scripted) must(script string, env ...string) {
	c.t.Helper()
	if out, err := c.call(script, env...); err != nil {
		c.t.Fatalf("%s: %v\n%s", script, err, out)
	}
}

// down ends the cluster if there is one.
func (c *scripted) down() {
	c.t.Helper()
	if _, err := os.Stat(filepath.Join(c.dir, "cluster")); err == nil {
		c.must("down.sh")
	}
}

// gone fails the test if a program or network of the cluster is left, or its directory.
func (c *scripted) gone(dir string) {
	c.t.Helper()
	if left := program.Survivors(dir); len(left) > 0 {
		c.t.Errorf("these are left: %v", left)
	}
	if left := c.made(); len(left) > 0 {
		c.t.Errorf("these are left: %v", left)
	}
	if _, err := os.Stat(dir); err == nil {
		c.t.Errorf("%s is left", dir)
	}
}

// await waits until something is so, two minutes at most.
func (c *scripted) await(what string, so func() bool) {
	c.t.Helper()
	for end := time.Now().Add(2 * time.Minute); !so(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			c.t.Fatalf("%s: not within two minutes", what)
		}
	}
}

// get returns a page of a place.
func (c *scripted) get(host int, path string) string {
	c.t.Helper()
	client := http.Client{Timeout: time.Minute}
	res, err := client.Get(fmt.Sprintf("http://%s.%d:8065%s", c.net, host, path))
	if err != nil {
		c.t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		c.t.Fatalf("%s: %s, %v\n%s", path, res.Status, err, b)
	}
	return string(b)
}

// version is that which both servers report, each for itself and by the proxy.
func (c *scripted) version() string {
	c.t.Helper()
	var all []string
	for _, host := range []int{10, 10, 11, 12} {
		var config struct{ Version string }
		if err := json.Unmarshal([]byte(c.get(host, "/api/v4/config/client?format=old")), &config); err != nil {
			c.t.Fatal(err)
		}
		all = append(all, config.Version)
		if config.Version != all[0] {
			c.t.Fatalf("versions %v", all)
		}
	}
	return all[0]
}

// A store is one of the cluster's databases: its engine, the version that is installed with its
// reset, the places of the server and of its replica, and the query of those who are connected to
// it, with spaces between.
type scriptedStore struct{ engine, version, db, replica, readers string }

func scriptedStores() []scriptedStore {
	return []scriptedStore{
		{
			"postgresql",
			"11.0.1",
			"db",
			"replica",
			"SELECT string_agg(DISTINCT host(client_addr), ' ') FROM pg_stat_activity WHERE datname = 'chat'",
		},
		{
			"mysql",
			"11.0.0",
			"mdb",
			"mreplica",
			"SELECT group_concat(DISTINCT substring_index(host, ':', 1) ORDER BY 1 SEPARATOR ' ') FROM information_schema.processlist WHERE db = 'chat' AND user = 'chat'",
		},
	}
}

// sql returns what a statement prints in the database chat of a place.
func (c *scripted) sql(place, statement string) string {
	c.t.Helper()
	dir := filepath.Join(c.dir, place)
	cmd := exec.CommandContext(
		c.t.Context(),
		"psql",
		"-XAtq",
		"-h",
		dir,
		"-U",
		"postgres",
		"-d",
		"chat",
		"-c",
		statement,
	)
	if strings.HasPrefix(place, "m") {
		cmd = exec.CommandContext(
			c.t.Context(),
			"mariadb",
			"--no-defaults",
			"-NB",
			"-S",
			filepath.Join(dir, "socket"),
			"-u",
			"root",
			"chat",
			"-e",
			statement,
		)
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		c.t.Fatalf("%s: %v, %s", place, err, out)
	}
	return strings.TrimSpace(string(out))
}

// TestLocalExample carries the scripts of examples/external/local out: a version is installed on
// both servers behind the proxy, and with the reset of each database another one in its place.
// Deleted posts are back after it, on the replica too, from which the servers read. Nothing of the
// cluster is left at the end.
func TestLocalExample(t *testing.T) {
	t.Parallel()
	needsRoot(t)
	c := newScripted(t)
	t.Cleanup(c.down)
	c.must("up.sh")
	if out, err := c.call("up.sh", "CLUSTER="+c.dir+"-second"); err == nil ||
		!strings.Contains(out, c.net+".0/24 is in use here") {
		t.Errorf("a second cluster in the same network: %v\n%s", err, out)
	}
	c.must("install.sh", "PLIMSOLL_VERSION=11.0.0")
	if v := c.version(); v != "11.0.0" {
		t.Errorf("version %s", v)
	}
	if out, err := c.call("install.sh", "PLIMSOLL_VERSION=11.0.2"); err == nil ||
		!strings.Contains(out, "there is no release 11.0.2") {
		t.Errorf("a release that is not there: %v\n%s", err, out)
	}
	const posts = "SELECT count(*) FROM posts"
	for _, x := range scriptedStores() {
		before := c.sql(x.db, posts)
		c.sql(x.db, "DELETE FROM posts WHERE deleteat = 0")
		c.must("reset.sh", "PLIMSOLL_VERSION="+x.version, "PLIMSOLL_ENGINE="+x.engine)
		if db, replica := c.sql(x.db, posts), c.sql(x.replica, posts); before != "10000" ||
			db != before ||
			replica != before {
			t.Errorf(
				"%s: %s posts at first; after the reset %s, and %s of the replica",
				x.engine,
				before,
				db,
				replica,
			)
		}
		if v := c.version(); v != x.version {
			t.Errorf("%s: version %s after the reset, want %s", x.engine, v, x.version)
		}
		if got := c.sql(x.replica, x.readers); got != c.net+".11 "+c.net+".12" {
			t.Errorf("%s: the replica is read by %q", x.engine, got)
		}
	}
	c.down()
	c.gone(c.dir)
}
