package join

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

// A host without users answers its readers, each by its name, and has no sessions; one that is gone
// is named.
func TestReadersOfProbes(t *testing.T) {
	keys, tokens := keyFiles(t, "a", "b")
	h, _ := hall(t, HallConfig{Keys: keys})
	ctx, leave := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- Attend(ctx, AgentConfig{Token: tokens[0], URL: h.Addr(), Build: "b1", Say: t.Logf,
			Introduce: func() Introduction { return Introduction{Role: "proxy"} },
			Sample: func(_ context.Context, reader string) ([]byte, error) {
				if reader == "" {
					return nil, errors.New("no reader")
				}
				return []byte("samples for " + reader), nil
			}})
	}()
	if ms := await(t, h, 1); ms[0].Role != "proxy" {
		t.Errorf("%+v", ms)
	}
	if _, err := h.Link("a"); !says(err, "agent a has the probes of role proxy and no users") {
		t.Errorf("a link: %v", err)
	}
	first, second := h.Reader("a"), h.Reader("a")
	one, err := first(t.Context())
	must(t, err)
	again, err := first(t.Context())
	if err != nil || string(again) != string(one) {
		t.Errorf("the same reader: %q and %q, %v", one, again, err)
	}
	other, err := second(t.Context())
	if err != nil || string(other) == string(one) ||
		!strings.HasPrefix(string(other), "samples for ") {
		t.Errorf("two readers: %q and %q, %v", one, other, err)
	}
	leave()
	if err := <-done; err != nil {
		t.Error(err)
	}
	for name, want := range map[string]string{
		"a": "agent a does not answer; does plimsoll agent -join run there?",
		"b": "agent b does not answer",
		"c": "no agent c is known",
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 2*gone)
		if _, err := h.Reader(name)(ctx); !says(err, want) {
			t.Errorf("%v; want %q", err, want)
		}
		cancel()
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	cancel()
	if _, err := first(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}
