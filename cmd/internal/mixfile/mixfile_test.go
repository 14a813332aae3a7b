package mixfile

import (
	"strings"
	"testing"
)

func TestRatesOfASavedAnswer(t *testing.T) {
	for _, tt := range []struct{ name, answer, want string }{
		{"page", "<html>login</html>", "no answer of a Prometheus server"},
		{"error", `{"status":"error","error":"query timed out"}`, "the query failed: query timed out"},
		{"matrix", `{"status":"success","data":{"resultType":"matrix","result":[]}}`, `of type "matrix"`},
		{"empty", `{"status":"success","data":{"resultType":"vector","result":[]}}`, "names no handler"},
		{"not a number", `{"status":"success","data":{"resultType":"vector","result":[{"metric":{"handler":"x"},"value":[1,"y"]}]}}`, "value 1 of the vector"},
	} {
		if _, _, err := ratesOf([]byte(tt.answer)); err == nil ||
			!strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
	rates, at, err := ratesOf([]byte(`{"status":"success","data":{"resultType":"vector","result":[
		{"metric":{"handler":"createPost"},"value":[1778176800.5,"2.5"]},{"metric":{},"value":[1778176800.5,"7"]},
		{"metric":{"handler":"login"},"value":[1778176800.5,"NaN"]}]}}`))
	if err != nil || rates["createPost"] != 2.5 || len(rates) != 2 ||
		at.UnixMilli() != 1778176800500 {
		t.Errorf("%v at %v, %v", rates, at, err)
	}
}

func FuzzRatesOf(f *testing.F) {
	f.Add(
		[]byte(
			`{"status":"success","data":{"resultType":"vector","result":[{"metric":{"handler":"createPost"},"value":[1,"2"]}]}}`,
		),
	)
	f.Fuzz(func(t *testing.T, answer []byte) {
		rates, _, err := ratesOf(answer)
		if err == nil && len(rates) == 0 {
			t.Error("neither rates nor an error")
		}
	})
}
