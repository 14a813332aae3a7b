package users

import (
	"bytes"
	"encoding/json"
	"strings"
	"sync/atomic"

	"plimsoll/internal/plain"
	"plimsoll/load/engine"
	"plimsoll/load/workload"
	"plimsoll/plan"
	"plimsoll/record"
)

// Exceptions keeps the first exception of a script in a run. Its zero value has none. It is safe
// for concurrent use.
type Exceptions struct{ first atomic.Pointer[string] }

// Note looks for an exception in a line of the users' log.
func (e *Exceptions) Note(line string) {
	if text, ok := workload.ExceptionIn(line); ok {
		e.first.CompareAndSwap(nil, &text)
	}
}

// First returns the first exception, from its action on; "" without one.
func (e *Exceptions) First() string {
	if text := e.first.Load(); text != nil {
		return *text
	}
	return ""
}

// mostSetup is how much of the result of a script's setup a manifest holds, in bytes.
const mostSetup = 64 << 10

// ScriptOf describes the script of a plan whose users were provisioned; nil without one. The result
// of its setup is masked: values of names that sound secret, and all that is known as secret.
func ScriptOf(p *plan.Plan, mix []engine.Part, secrets *plain.Secrets) *record.Script {
	if !p.Workload.Scripted() {
		return nil
	}
	out := &record.Script{Digest: p.Workload.ScriptDigest}
	for _, part := range mix {
		b, ok := part.Behavior.(interface{ Setup() []byte })
		if !ok || len(b.Setup()) == 0 {
			continue
		}
		text := secrets.Text(masked(b.Setup()))
		out.SetupBytes = len(b.Setup())
		out.Setup = strings.ToValidUTF8(text[:min(len(text), mostSetup)], "")
	}
	return out
}

// masked returns JSON with *** for the values of names that sound secret; none of what is no JSON.
func masked(text []byte) string {
	var v any
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if d.Decode(&v) != nil {
		return ""
	}
	out, err := json.Marshal(mask(v))
	if err != nil {
		return ""
	}
	return string(out)
}

func mask(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name, x := range v {
			if v[name] = mask(x); workload.SoundsSecret(name) {
				v[name] = "***"
			}
		}
	case []any:
		for i, x := range v {
			v[i] = mask(x)
		}
	}
	return v
}
