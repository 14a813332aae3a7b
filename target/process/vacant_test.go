package process_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"plimsoll/internal/failure"
	"plimsoll/target"
	"plimsoll/target/process"
)

// TestForeignServer: another server at the program's address is neither provisioned nor taken for
// the program, at the first start and at a reset.
func TestForeignServer(t *testing.T) {
	handler := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNoContent)
	})
	srv := httptest.NewServer(handler)
	defer srv.Close()
	provisioned := 0
	conf := process.Config{Provision: func(context.Context, target.Endpoint) error {
		provisioned++
		return nil
	}}
	s := spec(t.TempDir(), "")
	s.URL, s.Args = srv.URL, []string{srv.Listener.Addr().String()}
	want := "another server answers at " + srv.URL + "/ready before this one is started"
	foreign := func(err error) bool { return err != nil && strings.Contains(err.Error(), want) }
	dep, err := driver(conf).Deploy(t.Context(), s)
	if err == nil {
		_ = dep.Stop(context.Background())
	}
	if !foreign(err) || provisioned != 0 {
		t.Errorf("Deploy() = %v, provisioned %d times", err, provisioned)
	}
	if left := running(t, s.Dir); len(left) != 0 {
		t.Errorf("processes %v are left", left)
	}
	srv.Close()
	ctx, dep := deploy(t, conf, s)
	if provisioned != 1 {
		t.Errorf("provisioned %d times", provisioned)
	}
	failure.None(t, halt(ctx, dep))
	again := httptest.NewUnstartedServer(handler)
	_ = again.Listener.Close()
	if again.Listener, err = net.Listen("tcp", srv.Listener.Addr().String()); err != nil {
		t.Fatal(err)
	}
	again.Start()
	defer again.Close()
	if err := dep.Reset(ctx); !foreign(err) || errors.Is(err, target.ErrStart) {
		t.Errorf("Reset() = %v", err)
	}
}

// TestAddressStaysAtAReset: a deployment whose port another server has taken while it was halted
// does not move to another one, which its description and its data would not know. That is no
// failure of its program.
func TestAddressStaysAtAReset(t *testing.T) {
	ctx, dep := deploy(t, process.Config{}, spec(t.TempDir(), ""))
	failure.None(t, halt(ctx, dep))
	url := dep.URL()
	l, err := net.Listen("tcp", strings.TrimPrefix(url, "http://"))
	failure.None(t, err)
	srv := &http.Server{Handler: http.NotFoundHandler()}
	go func() { _ = srv.Serve(l) }()
	defer srv.Close()
	if err := dep.Reset(ctx); err == nil || errors.Is(err, target.ErrStart) ||
		!strings.Contains(err.Error(), "address already in use") {
		t.Errorf("Reset() = %v", err)
	}
	if now := dep.URL(); now != url {
		t.Errorf("it moved from %s to %s", url, now)
	}
	srv.Close()
	failure.None(t, dep.Reset(ctx))
	if now := dep.Describe().URLs; now[0] != url || dep.URL() != url {
		t.Errorf("described at %s, answers at %s, deployed at %s", now, dep.URL(), url)
	}
}
