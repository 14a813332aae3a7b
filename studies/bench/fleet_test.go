package main

import (
	"context"
	"testing"
	"time"
)

// Stubs speak the fleet's protocol: a coordinator takes in all that they report.
func TestStubsAreAgents(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	dir, served := t.TempDir(), make(chan error, 1)
	o, err := coordinate(ctx, dir, 3, time.Second, warmUp{time.Second, 0}, func(url string) {
		go func() { served <- stubs(ctx, dir, url, 3, fleetRow{10, 3}) }()
	})
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := <-served; err != nil {
		t.Error(err)
	}
	if o.Rounds != 1 || o.Merged != 3*stubNames*stubOps || o.Report < 8000 || o.Report > 10000 ||
		o.Up < 3*o.Report {
		t.Errorf("%+v", o)
	}
}
