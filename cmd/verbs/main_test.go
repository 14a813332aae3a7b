package verbs

import (
	"flag"
	"os"
	"runtime"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"plimsoll/internal/program"
)

// Tests that are parallel mostly wait, for the start of a server or the end of a measured phase,
// and need a fifth of a core: more of them go at once than there are cores. Tests that need a quiet
// host are not parallel: they run one by one, before those.
func TestMain(m *testing.M) {
	if err := flag.Set("test.parallel", strconv.Itoa(max(7, runtime.GOMAXPROCS(0)))); err != nil {
		panic(err) // package testing has no such flag
	}
	testscript.Main(tidy{m}, map[string]func(){"plimsoll": func() { os.Exit(Main()) }})
}

// tidy removes the program that tests have built, when all have ended.
type tidy struct{ *testing.M }

func (m tidy) Run() int {
	defer program.Remove()
	return m.M.Run()
}
