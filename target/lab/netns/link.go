package netns

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"plimsoll/internal/linux"
	"plimsoll/target/lab"
)

// A Shaping limits a link in each direction. The zero value has no limits.
type Shaping struct {
	Delay time.Duration // what a packet takes longer, in whole microseconds
	Rate  int64         // bits per second; 0 means no limit
}

// queueTime limits how long a packet waits for a link with a rate; what would wait longer is lost,
// as at a switch. A queue holds leastQueue bytes at least, which is longer below 21 Mbit/s: 1.05 s
// at 1 Mbit/s. A link that was idle passes at once what it carries in burstTime, and leastBurst
// bytes at least: the kernel wakes tbf up by a timer, and a smaller bucket would overflow in
// between. A segment of the kernel's that is larger, with its headers, is split into packets by
// tbf.
const (
	queueTime  = 50 * time.Millisecond
	leastQueue = 128 << 10
	leastBurst = 64 << 10
	burstTime  = 4 * time.Millisecond
)

// A link with a delay holds mostDelayed packets at most.
const mostDelayed = 100_000

// commands returns the arguments of tc for the packets that a device sends.
func (l Shaping) commands(device string) (out [][]string) {
	at := []string{"root", "handle", "1:"}
	add := func(kind ...string) {
		out = append(out, append(append([]string{"qdisc", "add", "dev", device}, at...), kind...))
		at = []string{"parent", "1:1", "handle", "10:"}
	}
	if l.Delay > 0 {
		add(
			"netem",
			"delay",
			strconv.FormatInt(l.Delay.Microseconds(), 10)+"us",
			"limit",
			strconv.Itoa(mostDelayed),
		)
	}
	if l.Rate > 0 {
		in := func(t time.Duration) int64 { return int64(float64(l.Rate) / 8 * t.Seconds()) }
		burst := max(leastBurst, in(burstTime))
		add(
			"tbf",
			"rate",
			strconv.FormatInt(l.Rate, 10)+"bit",
			"burst",
			strconv.FormatInt(burst, 10),
			"limit",
			strconv.FormatInt(max(leastQueue, in(queueTime)), 10),
		)
	}
	return out
}

// limit limits what a device sends.
func (n *Namespace) limit(ctx context.Context, device string, link Shaping) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for _, args := range link.commands(device) {
		if err := lab.Run(ctx, lab.Spec{Path: "tc", Args: args, NetNS: n.Path()}); err != nil {
			return fmt.Errorf(
				"limiting the link %s: tc %s: %w",
				device,
				strings.Join(args, " "),
				err,
			)
		}
	}
	return nil
}

// Linkable reports why this kernel cannot limit links so, and the remedy. It tries it on a device
// that nothing else uses, and needs root.
func Linkable(ctx context.Context, links ...Shaping) error {
	return linkable(ctx, links, func(ctx context.Context, commands [][]string) error {
		var text strings.Builder
		for _, args := range commands {
			fmt.Fprintln(&text, strings.Join(args, " "))
		}
		spec := lab.Spec{
			Path:    "tc",
			Args:    []string{"-batch", "-"},
			Stdin:   strings.NewReader(text.String()),
			Unshare: linux.NewNet,
		}
		return lab.Run(ctx, spec)
	})
}

// linkable tries the longest delay, the highest rate, and both on one link if a link has both. tc
// carries commands out in a network of their own.
func linkable(
	ctx context.Context,
	links []Shaping,
	tc func(context.Context, [][]string) error,
) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var delay, rate, both Shaping
	for _, l := range links {
		delay.Delay, rate.Rate = max(delay.Delay, l.Delay), max(rate.Rate, l.Rate)
		if l.Delay > 0 && l.Rate > 0 {
			both = l
		}
	}
	var errs []error
	for _, x := range []struct {
		link               Shaping
		word, kind, module string
	}{
		{delay, "delay", "netem", "sch_netem, CONFIG_NET_SCH_NETEM"},
		{rate, "rate", "tbf", "sch_tbf, CONFIG_NET_SCH_TBF"},
	} {
		if x.link == (Shaping{}) {
			continue
		}
		switch err := tc(ctx, x.link.commands("lo")); {
		case err == nil:
		case errors.Is(err, exec.ErrNotFound):
			errs = append(errs, fmt.Errorf(
				"%s: the program tc is not there; install the package iproute2, or remove %[1]s",
				x.word,
			))
		case strings.Contains(err.Error(), "kind is unknown"):
			errs = append(errs, fmt.Errorf(
				"%s: this kernel has no %s; load its module or boot a kernel that has it (%s), or remove %[1]s",
				x.word,
				x.kind,
				x.module,
			))
		default:
			errs = append(errs, fmt.Errorf("%s: this host refuses %s: %w", x.word, x.kind, err))
		}
	}
	if len(errs) == 0 && both != (Shaping{}) {
		if err := tc(ctx, both.commands("lo")); err != nil {
			errs = append(errs, fmt.Errorf(
				"delay and rate: this host refuses tbf below netem; remove one of them: %w",
				err,
			))
		}
	}
	return errors.Join(errs...)
}

// Possible reports why this program cannot make network namespaces, and the remedy; nil if it can.
func Possible() error {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return fmt.Errorf("reading this program's capabilities: %w", err)
	}
	_, err = exec.LookPath("ip")
	return possible(os.Geteuid(), string(status), err)
}

// possible decides by the user, the text of /proc/self/status, and the error of looking for ip.
func possible(uid int, status string, ip error) error {
	if uid != 0 {
		return errors.New("network namespaces need root; run plimsoll as root")
	}
	for line := range strings.Lines(status) {
		text, ok := strings.CutPrefix(line, "CapEff:")
		if !ok {
			continue
		}
		caps, err := strconv.ParseUint(strings.TrimSpace(text), 16, 64)
		if err != nil {
			return fmt.Errorf("reading this program's capabilities: %w", err)
		}
		for _, c := range []struct {
			name string
			bit  uint
		}{{"CAP_NET_ADMIN", 12}, {"CAP_SYS_ADMIN", 21}} {
			if caps&(1<<c.bit) == 0 {
				return fmt.Errorf(
					"network namespaces need %s, which this program lacks, as in most containers; run it with that capability, or on the host itself",
					c.name,
				)
			}
		}
	}
	if ip != nil {
		return errors.New("network namespaces need the program ip; install the package iproute2")
	}
	return nil
}
