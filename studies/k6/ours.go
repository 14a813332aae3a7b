package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"plimsoll/studies/study"
)

// A stored is the part of plimsoll run -json that is compared.
type stored struct {
	Operations []struct {
		Name   string `json:"name"`
		Count  int    `json:"count"`
		Errors int    `json:"errors"`
	} `json:"operations"`
	Checks []struct {
		Name   string `json:"name"`
		Passed int    `json:"passed"`
		Failed int    `json:"failed"`
	} `json:"checks"`
	Events []struct {
		Kind      string `json:"kind"`
		Rule      string `json:"rule"`
		Violated  bool   `json:"violated"`
		NoData    bool   `json:"no_data"`
		Undecided bool   `json:"undecided"`
	} `json:"findings_and_errors"`
}

// inOurs carries a script out in plimsoll. The machine is shared with k6's and the server's work
// here, so a run that is not valid for that reason is compared all the same.
func (s *setup) inOurs(ctx context.Context, script, target, dir string) (*tally, error) {
	cmd := exec.CommandContext(
		ctx,
		s.program,
		"run",
		"-json",
		"-calibrate=false",
		"-store="+filepath.Join(dir, "store"),
		"-script="+script,
		target,
	)
	var out, talk bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, io.MultiWriter(os.Stderr, &talk)
	err := cmd.Run()
	var r stored
	if json.Unmarshal(out.Bytes(), &r) != nil {
		return nil, fmt.Errorf("plimsoll: %w: %s", err, study.OneLine(talk.String()))
	}
	t := r.tally()
	t.Status = cmd.ProcessState.ExitCode()
	return t, nil
}

// unasked is the rule that a run has by itself where its script names none of that quantity.
const unasked = "rate(errors) < 0.1% min 2000"

// tally sorts the operations of a run.
func (r *stored) tally() *tally {
	t := newTally()
	for _, o := range r.Operations {
		count := passed{o.Count - o.Errors, o.Errors}
		kind, name, _ := strings.Cut(o.Name, " ")
		switch kind {
		case "op": // all of them
		case "iteration":
			t.Iterations += o.Count
		case "group":
			t.Groups[name] += o.Count
		default:
			t.Requests[o.Name] = &count
		}
	}
	for _, c := range r.Checks {
		t.Checks[c.Name] = &passed{c.Passed, c.Failed}
	}
	for _, e := range r.Events {
		if e.Kind == "slo" && e.Rule != unasked {
			t.Thresholds.add(!e.Violated && !e.NoData && !e.Undecided)
		}
	}
	return t
}
