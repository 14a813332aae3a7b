package lab_test

import (
	"os"
	"os/exec"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"plimsoll/target/lab"
)

// offMainEnv lets the test binary play a program whose main goroutine uses OnThread: see offMain.
const offMainEnv = "LAB_TEST_OFF_MAIN"

// offMain calls OnThread from the main goroutine and from several at once, and ends with 1 if one
// call was on the main thread. It is on the main goroutine because that begins on the main thread,
// which is then free for the next one.
func offMain() int {
	var all sync.WaitGroup
	var mu sync.Mutex
	status := 0
	call := func() {
		done := make(chan struct{})
		lab.OnThread(func() {
			defer close(done)
			if unix.Gettid() == os.Getpid() {
				mu.Lock()
				status = 1
				mu.Unlock()
			}
		})
		<-done
	}
	for range 100 {
		call()
	}
	for range 8 {
		all.Go(func() {
			for range 20 {
				call()
			}
		})
	}
	all.Wait()
	return status
}

// TestOnThread: no call is on the main thread, whoever calls.
func TestOnThread(t *testing.T) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), offMainEnv+"=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("a call was on the main thread: %v\n%s", err, out)
	}
}
