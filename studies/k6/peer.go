package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"plimsoll/studies/study"
)

// A passed counts what held and what did not.
type passed struct {
	Yes int `json:"yes"`
	No  int `json:"no"`
}

func (p *passed) add(ok bool) {
	if ok {
		p.Yes++
	} else {
		p.No++
	}
}

// A tally holds the counts of one run of a script.
type tally struct {
	Iterations int                `json:"iterations"`
	Requests   map[string]*passed `json:"requests"`
	Checks     map[string]*passed `json:"checks,omitempty"`
	Groups     map[string]int     `json:"groups,omitempty"`
	Thresholds passed             `json:"thresholds"`
	Status     int                `json:"exit_status"`
}

func newTally() *tally {
	return &tally{
		Requests: map[string]*passed{},
		Checks:   map[string]*passed{},
		Groups:   map[string]int{},
	}
}

// at returns the value of a name, which it makes at first.
func at(m map[string]*passed, name string) *passed {
	if m[name] == nil {
		m[name] = new(passed)
	}
	return m[name]
}

// A point is a line of k6's stream of samples.
type point struct {
	Type   string `json:"type"`
	Metric string `json:"metric"`
	Data   struct {
		Time  time.Time         `json:"time"`
		Value float64           `json:"value"`
		Tags  map[string]string `json:"tags"`
	} `json:"data"`
}

// usualTime is how long most scripts last.
const usualTime = 5 * time.Second

// crossed is k6's exit status when a threshold did not hold.
const crossed = 99

// inPeer carries a script out in k6. What setup and teardown do is left out, and so is what ends
// before or after the time that counts.
func (s *setup) inPeer(ctx context.Context, script, target, dir string, x sample) (*tally, error) {
	stream, summary := filepath.Join(dir, "stream.json"), filepath.Join(dir, "summary.json")
	cmd := exec.CommandContext(
		ctx,
		s.peer,
		"run",
		"--quiet",
		"--no-usage-report",
		"--summary-export="+summary,
		"--out=json="+stream,
		"--env=BASE_URL="+target,
		script,
	)
	out, err := cmd.CombinedOutput()
	t := newTally()
	if t.Status = cmd.ProcessState.ExitCode(); err != nil && t.Status != crossed {
		return nil, fmt.Errorf("k6: %w: %s", err, study.OneLine(string(out)))
	}
	f, err := os.Open(stream)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var began time.Time
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var p point
		if err := json.Unmarshal(lines.Bytes(), &p); err != nil {
			return nil, fmt.Errorf("%s: %w", stream, err)
		}
		if p.Type != "Point" {
			continue
		}
		if began.IsZero() && !p.around() {
			began = p.Data.Time
		}
		at := p.Data.Time.Sub(began) // a little less than 0 for the first of another user
		if (x.from == 0 || at >= x.from) && at < cmp.Or(x.to, usualTime) {
			t.count(p)
		}
	}
	text, err := os.ReadFile(summary)
	if err != nil {
		return nil, err
	}
	return t, t.judge(text)
}

// group is the innermost group: k6 names all that it stands in, as in "::arrive::look around".
func (p *point) group() string {
	all := p.Data.Tags["group"]
	return all[strings.LastIndex(all, ":")+1:]
}

// around reports whether a sample is of setup or of teardown.
func (p *point) around() bool { return p.group() == "setup" || p.group() == "teardown" }

// count adds a sample.
func (t *tally) count(p point) {
	tags := p.Data.Tags
	if p.around() {
		return
	}
	switch p.Metric {
	case "iterations":
		t.Iterations++
	case "http_reqs":
		at(t.Requests, operation(tags)).add(tags["expected_response"] == "true")
	case "ws_sessions":
		at(t.Requests, "ws connect").add(tags["status"] == "101")
	case "checks":
		at(t.Checks, tags["check"]).add(p.Data.Value == 1)
	case "group_duration":
		t.Groups[p.group()]++
	case "ws_session_duration":
		t.Groups["ws session"]++
	}
}

// A segment of a path that is one of these stands for one object among many (docs/script.md); a token
// does if a digit is in it.
var (
	identifier = regexp.MustCompile(
		`^([0-9]+|[0-9a-fA-F]{8,}|[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})$`)
	token = regexp.MustCompile(`^[a-z0-9]{16,}$`)
)

// operation is the name that plimsoll gives to a request: that of the tag, else method and path. A
// tag is the address as well in k6.
func operation(tags map[string]string) string {
	u, err := url.Parse(tags["url"])
	if err != nil || u.Host == "" {
		return tags["name"]
	}
	segments := strings.Split(u.Path, "/")
	for i, s := range segments {
		if identifier.MatchString(s) || token.MatchString(s) && strings.ContainsAny(s, "0123456789") {
			segments[i] = "{id}"
		}
	}
	return tags["method"] + " " + strings.Join(segments, "/")
}

// judge reads the thresholds out of a summary.
func (t *tally) judge(summary []byte) error {
	var in struct {
		Metrics map[string]struct {
			Thresholds map[string]bool `json:"thresholds"` // whether it failed
		} `json:"metrics"`
	}
	if err := json.Unmarshal(summary, &in); err != nil {
		return err
	}
	for _, m := range in.Metrics {
		for _, failed := range m.Thresholds {
			t.Thresholds.add(!failed)
		}
	}
	if (t.Thresholds.No > 0) != (t.Status == crossed) {
		return errors.New("k6's exit status and its thresholds contradict each other")
	}
	return nil
}
