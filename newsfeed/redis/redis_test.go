package redis_test

import (
	"net"
	"strconv"
	"strings"
	"testing"

	"plimsoll/newsfeed/redis"
)

func TestStartStop(t *testing.T) {
	dir := t.TempDir()
	s, err := redis.Start(t.Context(), redis.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if len(s.PIDs()) != 1 {
		t.Errorf("PIDs %v: want one", s.PIDs())
	}
	d, err := s.Describe(t.Context())
	if err != nil || d.Version == "" || d.Settings["appendonly"] != "no" ||
		d.Settings["maxmemory"] != "0" ||
		d.Settings["save"] == "" {
		t.Errorf("description %+v, %v", d, err)
	}
	if err := s.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(s.PIDs()) != 0 {
		t.Errorf("PIDs %v after Stop: want none", s.PIDs())
	}
	if c, err := net.Dial("tcp", s.Addr()); err == nil {
		c.Close()
		t.Error("somebody still answers after Stop")
	}
}

func TestABadSettingIsToldAndNothingRuns(t *testing.T) {
	_, err := redis.Start(t.Context(), redis.Config{
		Dir:      t.TempDir(),
		Settings: map[string]string{"maxmemory": "lots"},
	})
	if err == nil || !strings.Contains(err.Error(), "maxmemory") {
		t.Errorf("got %v: want an error with the server's own words", err)
	}
}

func TestAPortThatIsTakenIsToldWhenItWasAskedFor(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if _, err := redis.Start(t.Context(), redis.Config{
		Dir:  t.TempDir(),
		Port: l.Addr().(*net.TCPAddr).Port,
	}); err == nil {
		t.Error("a server started on a port that is taken")
	}
}

// TestAnotherServerIsNotTaken: a server that has the port already answers too, and is not the one
// that was started.
func TestAnotherServerIsNotTaken(t *testing.T) {
	first, err := redis.Start(t.Context(), redis.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = first.Kill() }()
	_, port, err := net.SplitHostPort(first.Addr())
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.Atoi(port)
	if err != nil {
		t.Fatal(err)
	}
	second, err := redis.Start(t.Context(), redis.Config{Dir: t.TempDir(), Port: n})
	if err == nil {
		_ = second.Kill()
	}
	if err == nil || !strings.Contains(err.Error(), "Address already in use") {
		t.Errorf("a second server on the port of the first: %v", err)
	}
}
