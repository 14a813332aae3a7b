package main

import (
	"strings"
	"testing"
)

func TestLocustStats(t *testing.T) {
	const head = "Type,Name,Request Count,Failure Count,50%,99%\n"
	for _, tt := range []struct {
		name, table string
		n           int
		p50, p99    float64
		fault       string // of the error; empty means none
	}{
		{"the last line counts", head + "GET,get,7,0,3,4\n,Aggregated,200,0,10,96\n", 200, 0.010, 0.096, ""},
		{"nothing was asked", head + ",Aggregated,0,0,N/A,N/A\n", 0, 0, 0, "no request has a time"},
		{"no quantile", head + ",Aggregated,5,5,N/A,N/A\n", 0, 0, 0, "no request has a time"},
		{"not a number", head + ",Aggregated,5,0,many,9\n", 0, 0, 0, `column "50%"`},
		{"a column is missing", "Type,Name,50%,99%\n,Aggregated,1,2\n", 0, 0, 0, `no column "Request Count"`},
		{"a head alone", head, 0, 0, 0, "no line"},
		{"nothing", "", 0, 0, 0, "no line"},
	} {
		n, p50, p99, err := locustStats(strings.NewReader(tt.table))
		switch {
		case tt.fault == "" && err != nil,
			tt.fault != "" && (err == nil || !strings.Contains(err.Error(), tt.fault)):
			t.Errorf("%s: error %v, want %q", tt.name, err, tt.fault)
		case n != tt.n || p50 != tt.p50 || p99 != tt.p99:
			t.Errorf("%s: %d, %v, %v, want %d, %v, %v", tt.name, n, p50, p99, tt.n, tt.p50, tt.p99)
		}
	}
}
