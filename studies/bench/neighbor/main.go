// Command neighbor takes a share of one core in random bursts, as another tenant of a shared
// machine does.
//
// Each burst lasts 0.2 to 5 s and takes a share of the core that is drawn evenly from 0 to -most,
// in slices of 10 ms. It ends after -d by itself, and prints the CPU time that it got. The seed
// fixes the bursts that it asks for, not those that the kernel grants.
//
//	go run -C studies ./bench/neighbor -core 0 -d 15m -seed 1
package main

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/studies/study"
)

func main() { study.Main(run) }

func run(ctx context.Context, args []string) error {
	fs := flag.NewFlagSet("neighbor", flag.ContinueOnError)
	core := fs.Int("core", 0, "`core` on which the bursts run")
	length := fs.Duration("d", 15*time.Minute, "`length` of the whole, at most 2h")
	most := fs.Float64("most", 0.6, "largest `share` of the core that a burst takes, 0 to 1")
	seed := fs.Uint64("seed", 1, "`seed` of the bursts")
	if err := study.Parse(fs, args); err != nil {
		return err
	}
	if *length <= 0 || *length > 2*time.Hour {
		return fmt.Errorf("-d %v: want more than 0 and at most 2h", *length)
	}
	if *most < 0 || *most > 1 {
		return fmt.Errorf("-most %v: want 0 to 1", *most)
	}
	runtime.LockOSThread()
	var set unix.CPUSet
	set.Set(*core)
	if err := unix.SchedSetaffinity(0, &set); err != nil {
		return fmt.Errorf("-core %d: %w", *core, err)
	}
	ctx, cancel := context.WithTimeout(ctx, *length)
	defer cancel()

	rng := rand.New(rand.NewPCG(*seed, 60))
	began := time.Now()
	bursts, asked := 0, 0.0
	for ctx.Err() == nil {
		burst := time.Duration((0.2 + 4.8*rng.Float64()) * float64(time.Second))
		share := *most * rng.Float64()
		bursts++
		asked += share * burst.Seconds()
		take(ctx, burst, share)
	}
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		return err
	}
	wall := time.Since(began).Seconds()
	got := time.Duration(u.Utime.Nano() + u.Stime.Nano()).Seconds()
	fmt.Printf(
		"neighbor: core %d, %d bursts in %.0f s: asked for %.1f %% of the core, got %.1f %%\n",
		*core,
		bursts,
		wall,
		100*asked/wall,
		100*got/wall,
	)
	return nil
}

// take runs for the share of each slice and sleeps for its rest, until the burst ends.
func take(ctx context.Context, burst time.Duration, share float64) {
	const slice = 10 * time.Millisecond
	memory := make([]uint64, 1<<17) // 1 MiB: the caches are shared too
	for end := time.Now().Add(burst); time.Now().Before(end) && ctx.Err() == nil; {
		busy := time.Now().Add(time.Duration(share * float64(slice)))
		for i := uint64(1); time.Now().Before(busy); {
			for range 200 {
				i = i*6364136223846793005 + 1442695040888963407
				memory[i>>47] += i
			}
		}
		time.Sleep(slice - time.Duration(share*float64(slice)))
	}
}
