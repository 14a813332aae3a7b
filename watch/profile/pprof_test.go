package profile

import (
	"bytes"
	"compress/gzip"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	oracle "github.com/google/pprof/profile"
	"google.golang.org/protobuf/encoding/protowire"

	"plimsoll/internal/failure"
	"plimsoll/watch/profile/symbols"
)

// example is a profile with a function of each kind.
func example() Stored {
	return Stored{
		Module: "example.org/chat/v8",
		Binaries: []Binary{
			{Name: "chat", BuildID: "0123abcd"},
			{Name: "libc.so.6"},
		},
		Functions: []Symbol{
			{"example.org/chat/v8/api.(*API).post", "api/post.go", 17, "chat", symbols.Own},
			{"encoding/json.Marshal", "encoding/json/encode.go", 171, "chat", symbols.Library},
			{"runtime.mallocgc", "runtime/malloc.go", 1000, "chat", symbols.Runtime},
			{"memcpy", "", 0, "libc.so.6", symbols.Library},
			{"[kernel] write", "", 0, "", symbols.Kernel},
			{"[unknown]", "", 0, "libc.so.6", symbols.Unknown},
			{"foreign", "", 0, "chat", ""},
		},
		Stacks: []SampledStack{
			{Functions: []int32{0, 1, 2}, Samples: 7},
			{Functions: []int32{0, 3}, Samples: 1},
			{Functions: []int32{0, 0, 4}, Samples: 1 << 33},
			{Functions: []int32{5}, Samples: 2},
			{Functions: []int32{6}, Samples: 3},
		},
		Period:  1003009 * time.Nanosecond,
		Seconds: 29.5,
		CPU:     8.25,
		Lost:    12,
		Source:  FromKernel,
	}
}

func written(t testing.TB, s Stored) []byte {
	t.Helper()
	var b bytes.Buffer
	failure.None(t, Write(&b, s))
	return b.Bytes()
}

func TestWriteThenRead(t *testing.T) {
	want := example()
	file := written(t, want)
	got, err := Read(bytes.NewReader(file))
	failure.None(t, err)
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("read is not what was written (-want +got):\n%s", d)
	}
	if !bytes.Equal(file, written(t, want)) {
		t.Error("the same profile is written as other bytes")
	}
}

// TestWriteForPprof reads a written profile with the package of pprof.
func TestWriteForPprof(t *testing.T) {
	s := example()
	p, err := oracle.Parse(bytes.NewReader(written(t, s)))
	failure.None(t, err)
	if p.Period != int64(s.Period) || p.DurationNanos != 29.5e9 || p.PeriodType.Type != "cpu" ||
		!p.HasFunctions() || p.Mapping[0].File != "chat" || p.Mapping[0].BuildID != "0123abcd" {
		t.Errorf("pprof reads %v", p)
	}
	for i, sample := range p.Sample {
		var names []string
		for _, l := range slices.Backward(sample.Location) {
			names = append(names, l.Line[0].Function.Name)
			if f := l.Line[0].Function; f.SystemName != f.Name || f.StartLine != l.Line[0].Line {
				t.Errorf("pprof reads function %+v of line %d", f, l.Line[0].Line)
			}
		}
		var want []string
		for _, f := range s.Stacks[i].Functions {
			want = append(want, s.Functions[f].Name)
		}
		values := []int64{s.Stacks[i].Samples, s.Stacks[i].Samples * int64(s.Period)}
		if !slices.Equal(names, want) || !slices.Equal(sample.Value, values) {
			t.Errorf("pprof reads %q with %d, want %q with %d", names, sample.Value, want, values)
		}
	}
}

// TestReadOfPprof reads a profile that the package of pprof has written.
func TestReadOfPprof(t *testing.T) {
	want := example()
	p, err := oracle.Parse(bytes.NewReader(written(t, want)))
	failure.None(t, err)
	var b bytes.Buffer
	failure.None(t, p.Write(&b))
	got, err := Read(&b)
	failure.None(t, err)
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("read is not what pprof wrote (-want +got):\n%s", d)
	}
}

// TestReadRejects reads profiles of ours that another tool has changed.
func TestReadRejects(t *testing.T) {
	for name, breakIt := range map[string]func(*oracle.Profile){
		"a kind more":   func(p *oracle.Profile) { p.Comments[5] += "o" },
		"no such kind":  func(p *oracle.Profile) { p.Comments[5] = kindsComment + "xxxxxxx" },
		"no number":     func(p *oracle.Profile) { p.Comments[1] = cpuComment + "many" },
		"not a number":  func(p *oracle.Profile) { p.Comments[1] = cpuComment + "NaN" },
		"other source":  func(p *oracle.Profile) { p.Comments[4] = sourceComment + "other" },
		"other values":  func(p *oracle.Profile) { p.SampleType[0].Type = "objects" },
		"no period":     func(p *oracle.Profile) { p.Period = 0 },
		"other period":  func(p *oracle.Profile) { p.PeriodType.Unit = "bytes" },
		"negative":      func(p *oracle.Profile) { p.Sample[0].Value[0] = -1 },
		"lost negative": func(p *oracle.Profile) { p.Comments[3] = lostComment + "-1" },
	} {
		p, err := oracle.Parse(bytes.NewReader(written(t, example())))
		failure.None(t, err)
		breakIt(p)
		var b bytes.Buffer
		failure.None(t, p.Write(&b))
		if s, err := Read(&b); err == nil {
			t.Errorf("%s: read as %+v", name, s)
		}
	}
}

// TestReadOfRuntime reads a profile of this process as its runtime writes it, against the package
// of pprof: inlined calls too.
func TestReadOfRuntime(t *testing.T) {
	var b bytes.Buffer
	failure.None(t, pprof.StartCPUProfile(&b))
	for b.Len() == 0 {
		var sink [][]byte
		for start := time.Now(); time.Since(start) < 100*time.Millisecond; {
			sink = append(sink, written(t, example()))
		}
		runtime.KeepAlive(sink)
		pprof.StopCPUProfile()
	}
	file := b.Bytes()
	want, err := oracle.ParseData(file)
	failure.None(t, err)
	got, err := Read(bytes.NewReader(file))
	failure.None(t, err)
	if len(got.Stacks) != len(want.Sample) || got.Period != 10*time.Millisecond {
		t.Fatalf("%d stacks of %v, want %d of 10ms", len(got.Stacks), got.Period, len(want.Sample))
	}
	for i, sample := range want.Sample {
		var names, read []string
		for _, l := range sample.Location {
			for _, line := range l.Line {
				names = append(names, line.Function.Name)
			}
		}
		for _, f := range slices.Backward(got.Stacks[i].Functions) {
			read = append(read, got.Functions[f].Name)
		}
		if !slices.Equal(names, read) || got.Stacks[i].Samples != sample.Value[0] {
			t.Errorf("stack %d is %q, want %q", i, read, names)
		}
	}
}

// TestPprofDiff runs the command that a report prints.
func TestPprofDiff(t *testing.T) {
	tool, err := exec.LookPath("go")
	if err != nil {
		failure.Lacks(t, "go", err.Error())
	}
	dir := t.TempDir()
	base, fresh := filepath.Join(dir, "base.pprof"), filepath.Join(dir, "new.pprof")
	s := example()
	s.Stacks[2].Samples = 9
	failure.None(t, os.WriteFile(base, written(t, s), 0o666))
	s.Stacks[2].Samples = 1009
	failure.None(t, os.WriteFile(fresh, written(t, s), 0o666))
	cmd := exec.CommandContext(t.Context(), tool, "tool", "pprof", "-top", "-sample_index=samples",
		"-diff_base", base, fresh)
	cmd.Env = append(os.Environ(), "PPROF_TMPDIR="+dir)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var lines []string
	for line := range strings.Lines(string(out)) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == "1000" {
			lines = append(lines, strings.Join(f[5:], " "))
		}
	}
	if !slices.Equal(lines, []string{"[kernel] write"}) {
		t.Errorf("functions with 1000 more samples: %q, want [kernel] write alone\n%s", lines, out)
	}
}

func TestWriteRejects(t *testing.T) {
	for name, breakIt := range map[string]func(*Stored){
		"no period":            func(s *Stored) { s.Period = 0 },
		"negative CPU":         func(s *Stored) { s.CPU = -1 },
		"function out of it":   func(s *Stored) { s.Stacks[1].Functions[0] = 99 },
		"negative function":    func(s *Stored) { s.Stacks[1].Functions[0] = -1 },
		"no sample":            func(s *Stored) { s.Stacks[1].Samples = 0 },
		"more than 292 years":  func(s *Stored) { s.Stacks[1].Samples = 1 << 62 },
		"unknown kind":         func(s *Stored) { s.Functions[0].Kind = "other" },
		"unknown binary":       func(s *Stored) { s.Functions[0].Binary = "other" },
		"two binaries of name": func(s *Stored) { s.Binaries[1].Name = "chat" },
		"deep stack": func(s *Stored) {
			s.Stacks[1].Functions = make([]int32, maxDepth+1)
		},
		"source": func(s *Stored) { s.Source = "other" },
		"long name": func(s *Stored) {
			s.Functions[0].Name = strings.Repeat("x", maxEntries+1)
		},
	} {
		s := example()
		breakIt(&s)
		var b bytes.Buffer
		if err := Write(&b, s); err == nil || b.Len() > 0 {
			t.Errorf("%s: error %v and %d bytes, want an error alone", name, err, b.Len())
		}
	}
}

// zipped compresses the fields of a profile.
func zipped(t testing.TB, proto []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	failure.None(t, failure.Of(z.Write(proto)))
	failure.None(t, z.Close())
	return b.Bytes()
}

// hostile are profiles whose tables are as large as their files can make them.
func hostile(t testing.TB) map[string][]byte {
	t.Helper()
	field := func(num protowire.Number, body ...byte) []byte {
		return protowire.AppendBytes(protowire.AppendTag(nil, num, protowire.BytesType), body)
	}
	head := slices.Concat(
		field(fieldString), field(fieldString, []byte("samples")...),
		field(fieldString, []byte("count")...), field(fieldSampleType, 8, 1, 16, 2),
		field(fieldFunction, 8, 1), field(fieldLocation, 8, 1, 34, 2, 8, 1),
		[]byte{fieldPeriod << 3, 1},
	)
	many := func(one []byte) []byte {
		return zipped(t, slices.Concat(head, bytes.Repeat(one, (maxProto-len(head))/len(one))))
	}
	deep := field(fieldSample, slices.Concat(
		field(1, bytes.Repeat([]byte{1}, maxDepth)...), field(2, 1),
	)...)
	return map[string][]byte{
		"strings":   many(field(fieldString)),
		"functions": many(field(fieldFunction)),
		"mappings":  many(field(fieldMapping)),
		"types":     many(field(fieldSampleType)),
		"locations": many(field(fieldLocation)),
		"lines":     many(field(fieldLocation, bytes.Repeat([]byte{34, 2, 8, 1}, 1<<10)...)),
		"samples":   many(field(fieldSample, 18, 1, 1)),
		"deep":      many(deep),
		"one sample": zipped(t, slices.Concat(head, field(
			fieldSample,
			field(1, make([]byte, 1<<25)...)...,
		))),
		"bomb": zipped(t, make([]byte, 1<<27)),
	}
}

// TestReadIsBounded measures what Read allocates for profiles of hostile size.
func TestReadIsBounded(t *testing.T) {
	for name, file := range hostile(t) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := Read(bytes.NewReader(file))
		runtime.ReadMemStats(&after)
		took := (after.TotalAlloc - before.TotalAlloc) >> 20
		t.Logf("%s: %d KB take %d MB: %v", name, len(file)>>10, took, err)
		if took > 400 {
			t.Errorf("%s: Read took %d MB in all, want at most 400", name, took)
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, s := range []Stored{example(), {Period: 1}} {
		file := written(f, s)
		f.Add(file)
		f.Add(file[:len(file)/2])
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		s, err := Read(bytes.NewReader(file))
		if err != nil {
			return
		}
		again, err := Read(bytes.NewReader(written(t, s)))
		failure.None(t, err)
		if d := cmp.Diff(s, again); d != "" {
			t.Errorf("written and read again (-once +twice):\n%s", d)
		}
	})
}

// large is like the profile of a run of 90 minutes.
func large() Stored {
	s := example()
	s.Functions = nil
	for i := range 8000 {
		s.Functions = append(s.Functions, Symbol{
			Name:   "example.org/chat/v8/package" + strings.Repeat("x", i%40) + ".function",
			Line:   i,
			Binary: "chat",
			Kind:   symbols.Own,
		})
	}
	r := rand.New(rand.NewPCG(1, 2))
	s.Stacks = nil
	for range 100_000 {
		st := SampledStack{Samples: 1 + r.Int64N(20)}
		for d := range 30 {
			st.Functions = append(st.Functions, int32(min(r.IntN(8)*d*d, 7999)))
		}
		s.Stacks = append(s.Stacks, st)
	}
	return s
}

func BenchmarkWrite(b *testing.B) {
	s := large()
	b.ReportAllocs()
	for b.Loop() {
		b.SetBytes(int64(len(written(b, s))))
	}
}

func BenchmarkRead(b *testing.B) {
	file := written(b, large())
	b.ReportAllocs()
	for b.Loop() {
		failure.None(b, failure.Of(Read(bytes.NewReader(file))))
	}
}
