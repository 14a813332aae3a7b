package api

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"plimsoll/internal/failure"
)

func TestScan(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{`{}`, ``},
		{` { "a" : 1 , "b":"x\"y\\", "c":{"d":["}",{}]},"e":null } `,
			`a=1|b="x\"y\\"|c={"d":["}",{}]}|e=null`},
		{`{"a":1`, "error"},
		{`{"a":1}x`, "error"},
		{`{"a":1,}`, "error"},
		{`{"a" 1}`, "error"},
		{`{"a":}`, "error"},
		{`{"a":"x}`, "error"},
		{`{"a":[1}`, "error"},
		{`{"a":yes}`, "error"},
		{`[1]`, "error"},
		{``, "error"},
		{`<html>`, "error"},
	} {
		var got []string
		err := eachField([]byte(tt.in), func(k, v []byte) error {
			got = append(got, string(k)+"="+string(v))
			return nil
		})
		s := strings.Join(got, "|")
		if err != nil {
			s = "error"
		}
		if s != tt.want {
			t.Errorf("%s: got %s, want %s", tt.in, s, tt.want)
		}
	}
}

// FuzzScan: no panic, and where encoding/json accepts an object, the same keys and values in the
// same order.
func FuzzScan(f *testing.F) {
	for _, s := range []string{`{"a":1,"b":[true,{"c":"\u00e9\ud83d\ude00\n"}],"d":"\\\""}`,
		`{"":null,"a":"\ud800"}`, `{"x":-1.5e3}`, "{\"a\":\"\xff\"}"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in string) {
		type pair struct{ k, v string }
		var got []pair
		err := eachField([]byte(in), func(k, v []byte) error {
			got = append(got, pair{string(appendUnescaped(nil, k)), string(v)})
			text(v)
			number(v)
			return nil
		})
		if !json.Valid([]byte(in)) || !strings.HasPrefix(strings.TrimLeft(in, " \t\r\n"), "{") {
			return
		}
		if err != nil {
			t.Fatalf("%q: %v", in, err)
		}
		dec := json.NewDecoder(strings.NewReader(in))
		dec.Token()
		for i := 0; dec.More(); i++ {
			key, err := dec.Token()
			failure.None(t, err)
			var raw json.RawMessage
			failure.None(t, dec.Decode(&raw))
			if i >= len(got) || key != strings.ToValidUTF8(got[i].k, "\ufffd") &&
				len(key.(string)) == len(got[i].k) || string(raw) != got[i].v {
				t.Fatalf("%q: member %d: got %+v, want %q %s", in, i, got, key, raw)
			}
			if raw[0] == '"' {
				var want string
				json.Unmarshal(raw, &want)
				if s := text(raw); want != string(s) && bytes.Equal(s, bytes.ToValidUTF8(s, nil)) {
					t.Fatalf("%s: got %q, want %q", raw, s, want)
				}
			}
		}
	})
}

func TestBuild(t *testing.T) {
	for _, s := range []string{"", "plain", "a\"b\\c\n\x00\x7f", "é😀", "\xff", "</script>"} {
		b := appendString(nil, s)
		var back string
		if err := json.Unmarshal(b, &back); err != nil || back != strings.ToValidUTF8(s, "\ufffd") {
			t.Errorf("%q: wrote %s, read %q, %v", s, b, back, err)
		}
	}
	if got := string(object(nil, "a", "1", "b", "", "c", "2")); got != `{"a":"1","c":"2"}` {
		t.Errorf("object: %s", got)
	}
	if got := string(list(nil, []string{"a", "b"})); got != `["a","b"]` {
		t.Errorf("list: %s", got)
	}
}
