package mattermost

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"plimsoll/dialect/mattermost/api"
	"plimsoll/internal/race"
	"plimsoll/load/workload"
	"plimsoll/reference/refnull"
)

// nullProcess starts the null server in a process of its own (this test binary again), whose memory
// does not count.
func nullProcess(t testing.TB) (url string) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestNullProcess$")
	cmd.Env = append(os.Environ(), "PLIMSOLL_NULL_PROCESS=1")
	in, err := cmd.StdinPipe()
	noError(t, err)
	out, err := cmd.StdoutPipe()
	noError(t, err)
	noError(t, cmd.Start())
	t.Cleanup(func() {
		in.Close()
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	noError(t, err)
	return strings.TrimSpace(line)
}

// TestNullProcess is that process; it ends with its standard input.
func TestNullProcess(t *testing.T) {
	if os.Getenv("PLIMSOLL_NULL_PROCESS") == "" {
		t.SkipNow() // it is started by other tests
	}
	s, err := refnull.New(refnull.Config{})
	noError(t, err)
	ctx, stop := context.WithCancel(context.Background())
	go func() {
		_, _ = os.Stdin.Read(make([]byte, 1))
		stop()
	}()
	fmt.Println(s.URL())
	noError(t, s.Run(ctx))
}

// personMemory returns the bytes that one of n connected persons costs after it has acted: each has
// an HTTP connection, a WebSocket, two goroutines, 100 channels and 5,000 known users.
func personMemory(t testing.TB, n int) float64 {
	env := nullEnv(nullProcess(t), 0.01)
	env.Timeout = 30 * time.Second
	env.Tally = &workload.Tally{}
	env.Params = nil
	b := &Person{}
	const first = 50 // persons; the state that exists once comes with them
	noError(t, b.Provision(t.Context(), env, first+n))
	const channels, users = 100, 5000
	var chs []*channel
	for i := range channels {
		chs = append(chs, b.dir.channel(api.Channel{
			ID:     testID("c", i).String(),
			Name:   fmt.Sprint("c", i),
			TeamID: b.Team,
			Type:   "O",
		}))
	}
	for i := range users {
		b.dir.profile(testID("u", i), fmt.Sprint("user-", i))
	}
	var before int64
	leave := make(chan struct{})
	var ready, gone sync.WaitGroup
	few := make(chan struct{}, first) // at a time: memory at rest is measured, not a storm
	for rank := range first + n {
		if rank == first {
			ready.Wait()
			before = inUse()
		}
		u := userOf(env, rank)
		actor := newActor(t, b, env, u)
		ready.Add(1)
		gone.Go(func() {
			defer actor.Close()
			few <- struct{}{}
			u.Schedule(u.Now())
			if err := actor.Login(t.Context()); err != nil {
				t.Error(err)
			}
			a := actor.(*person)
			for _, ch := range chs {
				a.place(ch)
			}
			a.mu.Lock()
			for i := range uint32(users) {
				a.profiles.add(i)
				a.statuses.add(i)
				a.images.add(i)
			}
			a.mu.Unlock()
			for range 10 {
				if err := actor.Act(t.Context()); err != nil {
					t.Error(err)
				}
			}
			<-few
			ready.Done()
			<-leave
		})
	}
	ready.Wait()
	after := inUse()
	close(leave)
	gone.Wait()
	return float64(after-before) / float64(n)
}

// inUse returns the bytes of heap and stacks in use.
func inUse() int64 {
	for range 4 { // they empty the pools and let stacks shrink, as those of a run of minutes do
		runtime.GC()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}

const mostMemory = 40 << 10 // bytes of a connected person

func TestPersonMemory(t *testing.T) {
	race.SkipBudget(t)
	if got := personMemory(t, 500); got > mostMemory {
		t.Errorf("%.1f KiB for a person, want at most %d", got/1024, mostMemory>>10)
	}
}

// BenchmarkPersonMemory prints the memory of a connected person. Run it with -benchtime=1x.
func BenchmarkPersonMemory(b *testing.B) {
	for b.Loop() {
		b.ReportMetric(personMemory(b, 1000)/1024, "KiB/user")
	}
}
