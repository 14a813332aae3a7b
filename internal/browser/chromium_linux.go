package browser

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Deadline bounds every wait for the browser.
const Deadline = 2 * time.Minute

// A Browser is a headless browser with one page. Messages are JSON, each ended by a zero byte
// (chromedevtools.github.io/devtools-protocol; flag --remote-debugging-pipe). Its methods end the
// test T when the browser does not answer; one goroutine at a time calls them.
type Browser struct {
	T       testing.TB // the test that is charged; subtests put themselves here
	to      *os.File
	from    *os.File
	in      *bufio.Reader // of from
	session string
	last    int       // number of the last call
	events  []message // so far
}

// A message is an answer or an event of the DevTools protocol.
type message struct {
	ID     int             `json:"id,omitempty"`
	Method string          `json:"method,omitempty"`
	Params json.RawMessage `json:"params,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
	Error  *struct {
		Message string `json:"message"`
	} `json:"error,omitempty"`
	SessionID string `json:"sessionId,omitempty"`
}

// Start starts the browser in a new network namespace that has no network at all.
func Start(t testing.TB) *Browser {
	t.Helper()
	return start(t, false)
}

// StartOnLoopback starts the browser where it can reach servers on 127.0.0.1, and nothing else: no
// other name is resolved, and Problems reports every request to another address.
func StartOnLoopback(t testing.TB) *Browser {
	t.Helper()
	return start(t, true)
}

func start(t testing.TB, loopback bool) *Browser {
	t.Helper()
	theirIn, ourOut, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	ourIn, theirOut, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	l := launch{
		program: find(t),
		profile: t.TempDir(),
		names:   "MAP * ~NOTFOUND",
		pipes:   []*os.File{theirIn, theirOut},
	}
	if loopback {
		l.names += ", EXCLUDE 127.0.0.1"
	}
	var own uintptr
	if !loopback {
		own = syscall.CLONE_NEWNET
	}
	cmd := l.command(own)
	if err = cmd.Start(); own != 0 && errors.Is(err, syscall.EPERM) {
		t.Log(
			"no network namespace may be made here: the browser resolves no name, and every request is seen",
		)
		cmd = l.command(0)
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	theirIn.Close()
	theirOut.Close()
	c := &Browser{T: t, to: ourOut, from: ourIn, in: bufio.NewReaderSize(ourIn, 1<<20)}
	t.Cleanup(func() {
		ourOut.Close()                                  // the browser ends with its pipe
		syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // and with all its processes
		cmd.Wait()
		ourIn.Close()
	})
	c.open()
	return c
}

// find returns the path of the browser's program.
func find(t testing.TB) string {
	t.Helper()
	for _, name := range []string{
		"chromium",
		"chromium-browser",
		"google-chrome-stable",
		"google-chrome",
	} {
		if p, err := exec.LookPath(name); err == nil {
			return p
		}
	}
	t.Fatal("there is no chromium to open the pages with; scripts/setup.sh installs it")
	return ""
}

// launch holds the parts of the command of a browser.
type launch struct {
	program string
	profile string     // directory of its own
	names   string     // rules for host names, a second lock beside the network namespace
	pipes   []*os.File // it reads commands from the first and answers on the second
}

// command returns the command that starts the browser with flags for clone.
func (l launch) command(flags uintptr) *exec.Cmd {
	c := exec.Command(
		l.program,
		"--headless",
		"--remote-debugging-pipe",
		"--no-sandbox", // root has none, and the pages are our own
		"--disable-gpu",
		"--disable-dev-shm-usage",
		"--no-first-run",
		"--disable-extensions",
		"--disable-background-networking",
		"--disable-component-update",
		"--disable-sync",
		"--hide-scrollbars",
		"--force-color-profile=srgb",
		"--host-resolver-rules="+l.names,
		"--user-data-dir="+l.profile,
		"about:blank",
	)
	c.Env = append(os.Environ(), "HOME="+l.profile, "DBUS_SESSION_BUS_ADDRESS=disabled:")
	c.ExtraFiles = l.pipes
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Cloneflags: flags}
	if flags != 0 && os.Getuid() != 0 {
		c.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		c.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{
			ContainerID: os.Getuid(),
			HostID:      os.Getuid(),
			Size:        1,
		}}
		c.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{
			ContainerID: os.Getgid(),
			HostID:      os.Getgid(),
			Size:        1,
		}}
	}
	return c
}

// open opens the page and asks for its events.
func (c *Browser) open() {
	c.T.Helper()
	var target struct{ TargetID string }
	c.Call("Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	var session struct{ SessionID string }
	c.Call("Target.attachToTarget", map[string]any{
		"targetId": target.TargetID,
		"flatten":  true,
	}, &session)
	c.session = session.SessionID
	for _, domain := range []string{"Page", "Runtime", "Network", "Log"} {
		c.Call(domain+".enable", nil, nil)
	}
}

// next reads a message, and keeps it if it is an event.
func (c *Browser) next() (m message) {
	c.T.Helper()
	data, err := c.in.ReadBytes(0)
	if err == nil {
		err = json.Unmarshal(data[:len(data)-1], &m)
	}
	if err != nil {
		c.T.Fatalf("the browser ended, or was silent for %v: %v", Deadline, err)
	}
	if m.ID == 0 {
		c.events = append(c.events, m)
	}
	return m
}

// Call carries out a command and decodes its result.
func (c *Browser) Call(method string, params map[string]any, result any) {
	c.T.Helper()
	c.last++
	request := map[string]any{"id": c.last, "method": method}
	if params != nil {
		request["params"] = params
	}
	if c.session != "" {
		request["sessionId"] = c.session
	}
	data, err := json.Marshal(request)
	if err == nil {
		err = c.from.SetReadDeadline(time.Now().Add(Deadline))
	}
	if err == nil {
		_, err = c.to.Write(append(data, 0))
	}
	m := message{}
	for err == nil && m.ID != c.last {
		m = c.next()
	}
	if err == nil && m.Error != nil {
		err = errors.New(m.Error.Message)
	}
	if err == nil && result != nil {
		err = json.Unmarshal(m.Result, result)
	}
	if err != nil {
		c.T.Fatalf("%s: %v", method, err)
	}
}

// Open loads a page from a file and returns its position in the events before the load, and its
// address.
func (c *Browser) Open(page []byte) (from int, address string) {
	c.T.Helper()
	file := filepath.Join(c.T.TempDir(), "page.html")
	if err := os.WriteFile(file, page, 0o644); err != nil {
		c.T.Fatal(err)
	}
	address = (&url.URL{Scheme: "file", Path: file}).String()
	return c.Go(address), address
}

// Go loads an address and returns its position in the events before the load.
func (c *Browser) Go(address string) (from int) {
	c.T.Helper()
	return c.load("Page.navigate", map[string]any{"url": address})
}

// Reload loads the page anew.
func (c *Browser) Reload() {
	c.T.Helper()
	c.load("Page.reload", nil)
}

// load makes a call that loads a page, waits for it, and returns its position in the events before.
func (c *Browser) load(method string, params map[string]any) (from int) {
	c.T.Helper()
	from = len(c.events)
	c.Call(method, params, nil)
	loaded := func(m message) bool { return m.Method == "Page.loadEventFired" }
	for !slices.ContainsFunc(c.events[from:], loaded) {
		c.next()
	}
	return from
}

// Problems returns the faults of the page since an event: requests for anything but the address or,
// where the address ends with a slash, what lies below it; errors and warnings on the console,
// exceptions.
func (c *Browser) Problems(from int, address string) []string {
	c.T.Helper()
	// Wait until requests that were begun have been reported.
	c.Eval("new Promise(done => setTimeout(() => done(0), 30))", nil)
	var out []string
	for _, e := range c.events[from:] {
		var p struct {
			Type    string
			Request struct{ URL string }
			Args    []struct {
				Value       any
				Description string
			}
			Entry            struct{ Level, Text string }
			ExceptionDetails struct {
				Text      string
				Exception struct{ Description string }
			}
		}
		if json.Unmarshal(e.Params, &p) != nil {
			continue
		}
		switch e.Method {
		case "Network.requestWillBeSent":
			if p.Request.URL != address &&
				!(strings.HasSuffix(address, "/") && strings.HasPrefix(p.Request.URL, address)) &&
				!strings.HasPrefix(p.Request.URL, "data:") {
				out = append(out, "request: "+p.Request.URL)
			}
		case "Runtime.consoleAPICalled":
			if p.Type != "log" && p.Type != "debug" && p.Type != "info" {
				out = append(out, fmt.Sprintf("console.%s: %v", p.Type, p.Args))
			}
		case "Runtime.exceptionThrown":
			out = append(
				out,
				"exception: "+p.ExceptionDetails.Text+" "+p.ExceptionDetails.Exception.Description,
			)
		case "Log.entryAdded":
			if p.Entry.Level == "error" || p.Entry.Level == "warning" {
				out = append(out, "log: "+p.Entry.Text)
			}
		}
	}
	return out
}

// Eval evaluates an expression in the page, waits for it, and decodes its value.
func (c *Browser) Eval(expression string, into any) {
	c.T.Helper()
	var r struct {
		Result           struct{ Value json.RawMessage }
		ExceptionDetails *struct {
			Text      string
			Exception struct{ Description string }
		}
	}
	c.Call("Runtime.evaluate", map[string]any{
		"expression":    expression,
		"returnByValue": true,
		"awaitPromise":  true,
	}, &r)
	if r.ExceptionDetails != nil {
		c.T.Fatalf(
			"%s: %s %s",
			expression,
			r.ExceptionDetails.Text,
			r.ExceptionDetails.Exception.Description,
		)
	}
	if into != nil {
		if err := json.Unmarshal(r.Result.Value, into); err != nil {
			c.T.Fatalf("%s = %s: %v", expression, r.Result.Value, err)
		}
	}
}

// Look sets the size of the window, the color scheme that its user prefers, and the medium.
func (c *Browser) Look(width int, scheme, medium string) {
	c.T.Helper()
	c.Call("Emulation.setDeviceMetricsOverride", map[string]any{
		"width":             width,
		"height":            900,
		"deviceScaleFactor": 1,
		"mobile":            false,
	}, nil)
	c.Call("Emulation.setEmulatedMedia", map[string]any{
		"media":    medium,
		"features": []any{map[string]any{"name": "prefers-color-scheme", "value": scheme}},
	}, nil)
}

// Mouse moves, presses or releases the left button.
func (c *Browser) Mouse(kind string, x, y float64, clicks int) {
	c.T.Helper()
	params := map[string]any{"type": kind, "x": x, "y": y, "clickCount": clicks}
	if kind != "mouseMoved" {
		params["button"] = "left"
	}
	c.Call("Input.dispatchMouseEvent", params, nil)
}

// Key presses a key, with Shift if the name begins so.
func (c *Browser) Key(name string) {
	c.T.Helper()
	modifiers := 0
	if rest, ok := strings.CutPrefix(name, "Shift+"); ok {
		name, modifiers = rest, 8
	}
	for _, kind := range []string{"rawKeyDown", "keyUp"} {
		c.Call("Input.dispatchKeyEvent", map[string]any{
			"type":      kind,
			"key":       name,
			"modifiers": modifiers,
		}, nil)
	}
}

// Picture writes a picture of the whole page.
func (c *Browser) Picture(file string) {
	c.T.Helper()
	var shot struct{ Data string }
	c.Call("Page.captureScreenshot", map[string]any{
		"format":                "png",
		"captureBeyondViewport": true,
	}, &shot)
	data, err := base64.StdEncoding.DecodeString(shot.Data)
	if err == nil {
		err = os.WriteFile(file, data, 0o644)
	}
	if err != nil {
		c.T.Fatal(err)
	}
}
