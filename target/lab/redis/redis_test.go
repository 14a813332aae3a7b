package redis_test

import (
	"net"
	"strings"
	"testing"

	"plimsoll/target/lab/redis"
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
	if err != nil || d.Version == "" || d.Settings["appendonly"] != "no" || d.Settings["maxmemory"] != "0" || d.Settings["save"] == "" {
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
	_, err := redis.Start(t.Context(), redis.Config{Dir: t.TempDir(), Settings: map[string]string{"maxmemory": "lots"}})
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
	if _, err := redis.Start(t.Context(), redis.Config{Dir: t.TempDir(), Port: l.Addr().(*net.TCPAddr).Port}); err == nil {
		t.Error("a server started on a port that is taken")
	}
}
