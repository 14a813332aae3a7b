package verbs

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"plimsoll/internal/browser"
	"plimsoll/reference/refnull"
	"plimsoll/rig"
)

// seconds is the time of the page's own clock.
func seconds(b *browser.Browser) (s float64) {
	b.T.Helper()
	b.Eval("performance.now() / 1000", &s)
	return s
}

// TestConsoleShowsALostProcess kills one of three processes with users: the run ends at once, and the page names it.
func TestConsoleShowsALostProcess(t *testing.T) {
	t.Parallel()
	cmd, root, output := startPlan(t, fmt.Sprintf(consolePlan, "120s")+openGates+"placement: {processes: 3}\n", "run")
	s := serveConsole(t, root)
	b := browser.StartOnLoopback(t)
	b.Look(1280, "light", "screen")
	from := b.Go(s.url + "/")
	place(b, "#/live/"+under(b)+"/agents")
	b.Says("3 of 3 here, with 24 users.")
	inspect(b, "agents")
	_, events := onlyRun(t, root)
	pids := joined(t, events)
	if len(pids) != 3 {
		t.Fatalf("processes %v", pids)
	}
	killed := seconds(b)
	if err := syscall.Kill(pids[1], syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	b.Until(`document.querySelector(".state.interrupted")`)
	t.Logf("the page showed the loss %.2f s after the process was killed", seconds(b)-killed)
	b.Says("agent 2 of 3")
	b.Says("Lost: agent 2 of 3")
	unproblematic(b, from, s)
	if status := wait(t, cmd, 60e9, output); status != rig.ExitInvalid {
		t.Errorf("exit status %d, want %d\n%s", status, rig.ExitInvalid, output)
	}
}

// TestConsoleShowsASilentAgent kills one of three agents of a fleet. A run waits long for an agent that is silent, and
// makes no frame meanwhile: the page names it all the same.
func TestConsoleShowsASilentAgent(t *testing.T) {
	t.Parallel()
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	null, err := refnull.New(refnull.Config{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := inBackground(func() error { return null.Run(ctx) })
	root, door := t.TempDir(), fmt.Sprintf("127.0.0.1:%d", freePort(t))
	var agents []*exec.Cmd
	t.Cleanup(func() {
		for _, a := range agents {
			_ = a.Process.Kill()
			_ = a.Wait() // it was killed
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	for _, name := range []string{"ann", "ben", "cid"} {
		token := filepath.Join(root, name+".nk")
		if out, err := exec.Command(path, "fleet", "-store", filepath.Join(root, "store"), "-new-token", token).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		cmd, _ := command(path, "agent", "-join", "nats://"+door, "-token-file", token)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		agents = append(agents, cmd)
	}
	plan := filepath.Join(root, "plan.yaml")
	text := strings.NewReplacer("{driver: refnull}", `{driver: external, url: "`+null.URL()+`"}`, "speed: \"10\"", `speed: "10", admin_password: "${ENV:PLIMSOLL_TEST_ADMIN}"`).Replace(fmt.Sprintf(consolePlan, "120s")) +
		openGates + "placement: {agents: 3}\n"
	if err := os.WriteFile(plan, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	run, output := command(path, "run", "-store", filepath.Join(root, "store"), "-fleet-listen", door, plan)
	run.Env = append(run.Env, "PLIMSOLL_TEST_ADMIN=of-the-null-server")
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = run.Process.Kill()
		_ = run.Wait() // it has ended, or was killed
		if t.Failed() {
			t.Log(output)
		}
	})
	s := serveConsole(t, root)
	b := browser.StartOnLoopback(t)
	b.Look(1280, "light", "screen")
	from := b.Go(s.url + "/")
	place(b, "#/live/"+under(b)+"/agents")
	b.Says("3 of 3 here, with 24 users.")
	killed := seconds(b)
	if err := agents[1].Process.Kill(); err != nil {
		t.Fatal(err)
	}
	b.Says("The run waits for them.")
	t.Logf("the page named the silent agent %.2f s after it was killed", seconds(b)-killed)
	b.Until(`document.querySelector("main .lead").innerText.includes("Silent: ") && document.querySelector("main .lead").innerText.includes("ben") && !/ann|cid/.test(document.querySelector("main .lead").innerText)`)
	inspect(b, "agents, one silent")
	unproblematic(b, from, s)
}
