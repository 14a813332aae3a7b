package limiter_test

import (
	"strings"
	"testing"

	"plimsoll/judge/limiter"
)

// The generator is not accused of cores that it did not use: the users of them are named, with
// advice about them.
func TestWhoUsedTheGeneratorsCores(t *testing.T) {
	const core = "core: the busiest of the generator's cores, whoever uses it: 95.47 %"
	for _, tt := range []struct {
		name            string
		crowd           *limiter.Crowd
		foreign         bool
		kind, confident string
		says, advice    string
	}{
		{"its own use is not known", nil, false, limiter.LimitGenerator, limiter.High, "LIMITED BY LOAD GENERATOR: " + core, "more cores"},
		{"a compiler", &limiter.Crowd{
			Own: 0.003,
			Others: []limiter.Neighbor{{
				Name:  "go",
				Cores: 0.2,
			}, {Name: "compile", Cores: 0.8}, {Name: "sshd", Cores: 0.01}},
		}, false,
			limiter.LimitHost, limiter.High, "used 0.3 % of its cores; in cores of this host: compile 0.80, go 0.20.", "End or move compile, go,"},
		{"the target", &limiter.Crowd{
			Own:    0.058,
			Target: 1.3,
			Others: []limiter.Neighbor{{Name: "compile", Cores: 0.2}},
		}, false,
			limiter.LimitShared, limiter.High, "used 5.8 % of its cores, the target's processes 1.30 cores of this host", "taskset"},
		{"a compiler beside the target", &limiter.Crowd{
			Own:    0.058,
			Target: 0.3,
			Others: []limiter.Neighbor{{Name: "compile", Cores: 1.2}},
		}, false,
			limiter.LimitHost, limiter.High, "compile 1.20", "End or move compile,"},
		{"nobody seen", &limiter.Crowd{Own: 0.003}, false, limiter.LimitHost, limiter.Low, "was not seen", "top"},
		{"nobody filled them", &limiter.Crowd{Own: 0.24, Busiest: 0.25}, false, limiter.LimitGenerator, limiter.Medium,
			"used 24 % of its cores, and nobody filled them (25 % of the busiest): it was late by itself, for moments", "more cores"},
		{"somebody filled them", &limiter.Crowd{Own: 0.24, Busiest: 0.9}, false, limiter.LimitHost, limiter.Low, "was not seen", "top"},
		{"a gate of others", &limiter.Crowd{Others: []limiter.Neighbor{{
			Name:  "backup",
			Cores: 0.5,
		}}}, true, limiter.LimitHost, limiter.High, "in cores of this host: backup 0.50", "End or move backup,"},
	} {
		l := limiter.Diagnose(nil, limiter.Observed{
			Generator: []string{core},
			Crowd:     tt.crowd,
			Foreign:   tt.foreign,
		})
		if l.Kind != tt.kind || l.Confidence != tt.confident ||
			!strings.Contains(l.Sentence, tt.says) ||
			!strings.Contains(l.Sentence, core) ||
			!strings.Contains(l.Advice, tt.advice) {
			t.Errorf("%s: %s, %s: %s\n%s", tt.name, l.Kind, l.Confidence, l.Sentence, l.Advice)
		}
		if accused := strings.Contains(l.Sentence, "LOAD GENERATOR"); accused != (tt.kind == limiter.LimitGenerator) {
			t.Errorf("%s: the generator is accused: %s", tt.name, l.Sentence)
		}
	}
}

// A run in which all operations failed is about these, whatever else was red.
func TestFailuresOfAllOperationsComeFirst(t *testing.T) {
	o := limiter.Observed{
		AllFailed: "162 of 162 login_websocket failed: 4xx 162 (400 162)",
		Cause:     "WebSocket handshake: the server answered 400",
		Generator: []string{"core: 100 %"},
		Void:      "behavior: the users did nothing",
	}
	l := limiter.Diagnose(nil, o)
	if l.Name != limiter.LimitFailures ||
		!strings.HasPrefix(
			l.Sentence,
			"ALL OPERATIONS FAILED, or nearly all: 162 of 162 login_websocket failed",
		) ||
		!strings.Contains(l.Sentence, "answered 400") ||
		!strings.Contains(l.Advice, "Upgrade") {
		t.Errorf("%s: %s\n%s", l.Name, l.Sentence, l.Advice)
	}
	o.Failures = map[string]float64{limiter.LimitRefusals: 1}
	if l := limiter.Diagnose(nil, o); l.Name != "refusals target" ||
		!strings.Contains(l.Advice, "limit_req") {
		t.Errorf("all were answered 503: %s: %s", l.Name, l.Sentence)
	}
}
