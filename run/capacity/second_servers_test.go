package capacity_test

import "math"

// A family is a kind of server; its servers differ by seed. None of them was seen by the authors
// of the search, and the author of them knew docs/method/capacity.md and the exported names of the
// package.
type family struct {
	name string
	// build makes a server and its rules.
	build func(s *site) (server, []rule)
	// start is the beginning of searches, as a share of the capacity; 0 for 0.6.
	start float64
	// easy servers are stationary: a search must find their capacity.
	easy bool
}

// Times of collectors, jobs, neighbors, caches, scrapes and sessions are the server's own: no
// pace scales them.
func families() []family {
	return []family{
		{name: "hits and misses, p99", build: hitsAndMisses},
		{name: "collector of 28 to 52 s", build: sawtooth},
		{name: "overload remembered", build: remembered},
		{name: "cache warms for 5 min", build: warming},
		{name: "autoscaler", build: autoscaler, start: 0.2},
		{name: "sessions linger 300 s", build: lingering},
		{name: "arrivals cost 30 to 90 s", build: arrivals},
		{name: "neighbor in bursts", build: bursts},
		{name: "pool of connections", build: connections},
		{name: "two rules", build: twoRules},
		{name: "limit per minute", build: perMinute},
		{name: "leak and restart", build: leak},
		{name: "job every 2 min", build: job},
		{name: "step in latency", build: stepped},
		{name: "utilization 15 s late", build: lateReading},
		{name: "instances collect at once", build: together},
		{name: "M/M/1", build: single, easy: true},
		{name: "M/G/8", build: eight, easy: true},
		{name: "linear CPU", build: linear, easy: true},
		{name: "slow host", build: slowHost},
	}
}

// hitsAndMisses has a p99 between two modes: misses are 1 % of the requests at the capacity, and
// more with more users.
func hitsAndMisses(s *site) (server, []rule) {
	p := s.pool(8, 0.5)
	growth, cost := s.uniform(1.5, 3), s.uniform(15, 30)
	taste := s.wander(0.03, 0.08, 10, 60)
	narrow := spread(0.3)
	return func(dt, n float64) moment {
		miss := 0.01 * math.Pow(n/s.users, growth) * max(1+taste.next(dt), 0)
		rate, wait := p.serve(dt, n, 1, 0)
		return moment{rate: rate, cpu: p.busy, modes: [2]mode{
			{1 - miss, wait + p.work, narrow},
			{miss, wait + cost*p.work, narrow},
		}}
	}, []rule{p.percentile(0.99, math.Sqrt(2*cost)), errors(0.001, 2000)}
}

// sawtooth makes requests dearer while its heap grows, then stops for a moment to collect.
func sawtooth(s *site) (server, []rule) {
	p := s.pool(4, 0.85)
	period := s.uniform(28, 52)
	rise := s.uniform(0.15, 0.35)
	pause := s.uniform(0.2, 0.6)
	last, sh := 0.0, spread(0.6)
	c := &clock{}
	return func(dt, n float64) moment {
		at, extra := c.phase(dt, period), 0.0
		if at < last {
			extra = pause * p.cores
		}
		last = at
		return p.answer(dt, n, 1+rise*at/period, extra, sh)
	}, []rule{p.mean(5), errors(0.001, 2000)}
}

// remembered makes requests dearer for a while after each overload, as cold caches and swollen
// heaps do.
func remembered(s *site) (server, []rule) {
	p := s.pool(6, 0.88)
	memory, dearer := s.uniform(20, 90), s.uniform(1.08, 1.25)
	since, sh := math.Inf(1), spread(0.5)
	return func(dt, n float64) moment {
		slow := 1.0
		if since < memory {
			slow = dearer
		}
		m := p.answer(dt, n, slow, 0, sh)
		since += dt
		if p.latency > 8*p.work {
			since = 0
		}
		return m
	}, []rule{p.percentile(0.95, 10), errors(0.001, 2000)}
}

// warming needs more work per request until its cache is warm, to 90 % after five minutes or so.
func warming(s *site) (server, []rule) {
	p := s.pool(6, 0.85)
	tau, cold := s.uniform(100, 160), s.uniform(0.3, 0.8)
	now, sh := 0.0, spread(0.6)
	return func(dt, n float64) moment {
		now += dt
		return p.answer(dt, n, 1+cold*math.Exp(-now/tau), 0, sh)
	}, []rule{p.percentile(0.95, 9), errors(0.001, 2000)}
}

// autoscaler adds an instance after a minute above 70 % of CPU, ready some seconds later, and
// removes one after five minutes below 30 %.
func autoscaler(s *site) (server, []rule) {
	most := math.Round(s.uniform(5.5, 8.5))
	p := s.pool(2*most, 0.88)
	boot := s.uniform(20, 40)
	instances := 2.0
	above := 0.0
	below := 0.0
	util := 0.0
	sh := spread(0.5)
	return func(dt, n float64) moment {
		p.cores = 2 * instances
		m := p.answer(dt, n, 1, 0, sh)
		util += (p.busy - util) * min(dt/10, 1)
		above, below = above+dt, below+dt
		if util < 0.7 {
			above = 0
		}
		if util > 0.3 {
			below = 0
		}
		if above > 60+boot {
			instances, above = min(instances+1, most), 0
		}
		if below > 300 {
			instances, below = max(instances-1, 2), 0
		}
		return m
	}, []rule{p.percentile(0.95, 8), errors(0.001, 2000)}
}

// lingering serves the sessions of users that have left for 300 s more, at a part of what a user
// costs.
func lingering(s *site) (server, []rule) {
	p := s.pool(4, 0.85)
	part := s.uniform(0.3, 0.8)
	type crowd struct{ until, n float64 }
	var gone []crowd
	now := 0.0
	last := 0.0
	sh := spread(0.6)
	return func(dt, n float64) moment {
		now += dt
		if n < last {
			gone = append(gone, crowd{now + 300, last - n})
		}
		last = n
		for len(gone) > 0 && gone[0].until < now {
			gone = gone[1:]
		}
		ghosts := 0.0
		for _, g := range gone {
			ghosts += g.n
		}
		return p.answer(dt, n, 1, ghosts*part*p.work/p.think*dt, sh)
	}, []rule{p.mean(4), errors(0.001, 2000)}
}

// arrivals makes users log in and load: as much work as 30 to 90 s of theirs at pace 1, within
// some seconds.
func arrivals(s *site) (server, []rule) {
	p := s.pool(4, 0.85)
	cost, within := s.uniform(30, 90)*s.pace, s.uniform(2, 5)*s.pace
	last := math.Inf(1)
	due := 0.0
	sh := spread(0.6)
	return func(dt, n float64) moment {
		due += max(n-last, 0) * cost * p.work / p.think
		last = n
		part := due * min(dt/within, 1)
		due -= part
		return p.answer(dt, n, 1, part, sh)
	}, []rule{p.percentile(0.95, 8), errors(0.001, 2000)}
}

// bursts is on a host whose neighbor wakes up for some seconds, once in a minute or two.
func bursts(s *site) (server, []rule) {
	p := s.pool(4, 0.8)
	gap := s.uniform(40, 120)
	length := s.uniform(3, 12)
	slow := s.uniform(1.15, 1.5)
	left := 0.0
	loud := true
	sh := spread(0.6)
	return func(dt, n float64) moment {
		if left -= dt; left < 0 {
			loud = !loud
			left = gap * s.rng.ExpFloat64()
			if loud {
				left = length * (0.5 + s.rng.Float64())
			}
		}
		if loud {
			return p.answer(dt, n, slow, 0, sh)
		}
		return p.answer(dt, n, 1, 0, sh)
	}, []rule{p.mean(4), errors(0.001, 2000)}
}

// connections has a pool of database connections: requests hold one for their work, wait in line
// for it, and fail when the line is full.
func connections(s *site) (server, []rule) {
	p := s.pool(math.Round(s.uniform(12, 40)), 0.92)
	longest, contention := s.uniform(0.5, 1.5), s.uniform(0.1, 0.3)
	sh := spread(0.4)
	return func(dt, n float64) moment {
		m := p.answer(dt, n, 1+contention*(n/s.users-1), 0, sh)
		if most := longest * p.cores; p.backlog > most {
			m.failed = min((p.backlog-most)/(p.demand*p.cores*dt), 1)
			p.backlog = most
		}
		m.cpu = 0
		return m
	}, []rule{p.percentile(0.95, 6), errors(0.01, 200)}
}

// twoRules breaks a p99 and a limit of CPU within 3 % of each other.
func twoRules(s *site) (server, []rule) {
	p := s.pool(4, 0.85)
	sh := spread(0.5)
	rho := 0.85 * s.uniform(0.97, 1.03)
	wait := math.Pow(rho, math.Sqrt(2*(p.cores+1))-1) / (p.cores * (1 - rho))
	return func(dt, n float64) moment { return p.answer(dt, n, 1, 0, sh) },
		[]rule{p.percentile(0.99, (1+wait)*sh.quantile(0.99)), cpu(0.85), errors(0.001, 2000)}
}

// perMinute refuses what is more than so many requests in a minute of the clock. Its rule looks
// back a minute.
func perMinute(s *site) (server, []rule) {
	p := s.pool(8, 0.6)
	quota := s.users / s.think * 60
	used := 0.0
	last := 0.0
	sh := spread(0.6)
	c := &clock{now: 60 * s.rng.Float64()}
	return func(dt, n float64) moment {
			at := c.phase(dt, 60)
			if at < last {
				used = 0
			}
			last = at
			m := p.answer(dt, n, 1, 0, sh)
			used += m.rate * dt
			m.failed = min(max((used-quota)/(m.rate*dt), 0), 1)
			return m
		}, []rule{p.percentile(0.95, 8),
			{name: "rate(errors) over 1m", stat: "errors", limit: 0.01, min: 200, over: 60}}
}

// leak makes requests dearer by some percent with the requests served, until its instances are
// restarted.
func leak(s *site) (server, []rule) {
	p := s.pool(4, 0.82)
	rise := s.uniform(0.06, 0.14)
	most := s.users / s.think * 60 * s.uniform(20, 40) * s.pace
	served, sh := 0.0, spread(0.6)
	return func(dt, n float64) moment {
		extra := 0.0
		if served > most {
			served, extra = 0, 1.5*s.pace*p.cores
		}
		m := p.answer(dt, n, 1+rise*served/most, extra, sh)
		served += m.rate * dt
		return m
	}, []rule{p.mean(4), errors(0.001, 2000)}
}

// job takes a part of the cores for some seconds, every two minutes.
func job(s *site) (server, []rule) {
	p := s.pool(4, 0.8)
	length, part := s.uniform(6, 20), s.uniform(0.12, 0.3)
	c := &clock{now: 120 * s.rng.Float64()}
	sh := spread(0.6)
	return func(dt, n float64) moment {
		extra := 0.0
		if c.phase(dt, 120) < length {
			extra = part * p.cores * dt
		}
		return p.answer(dt, n, 1, extra, sh)
	}, []rule{p.percentile(0.95, 9), errors(0.001, 2000)}
}

// stepped answers fast up to the capacity and slowly beyond it, and is flat on both sides.
func stepped(s *site) (server, []rule) {
	p := s.pool(8, 0.5)
	width, jump := s.uniform(0.002, 0.008), s.uniform(1.5, 4)
	sh, reach := spread(0.4), s.wander(0.003, 0.01, 5, 40)
	return func(dt, n float64) moment {
		over := (n/s.users/(1+reach.next(dt)) - 1) / width
		m := p.answer(dt, n, 1, 0, sh)
		m.modes[0].mean += p.work * jump / (1 + math.Exp(-over))
		return m
	}, []rule{p.percentile(0.95, (1+jump/2)*sh.quantile(0.95)), errors(0.001, 2000)}
}

// lateReading has a limit of CPU whose readings are 15 s old.
func lateReading(s *site) (server, []rule) {
	p := s.pool(4, 0.8)
	sh, late := spread(0.6), cpu(0.8)
	late.delay = 15
	return func(dt, n float64) moment { return p.answer(dt, n, 1, 0, sh) },
		[]rule{late, p.percentile(0.95, 40), errors(0.001, 2000)}
}

// together has instances that collect at the same moment: requests wait until the end of the
// pause, which is the longer the more users there are.
func together(s *site) (server, []rule) {
	p := s.pool(8, 0.6)
	period := s.uniform(6, 14)
	pause := s.uniform(0.3, 0.6)
	growth := s.uniform(1, 2)
	sh, narrow := spread(0.4), spread(0.05)
	next, left := period*s.rng.Float64(), 0.0
	return func(dt, n float64) moment {
		m := p.answer(dt, n, 1, 0, sh)
		if next -= dt; next < 0 {
			next += period * (0.9 + 0.2*s.rng.Float64())
			left = pause * math.Pow(n/s.users, growth)
		}
		if hit := min(left, dt); hit > 0 {
			m.modes = [2]mode{{1 - hit/dt, p.latency, sh}, {hit / dt, left - hit/2, narrow}}
			if left < dt {
				m.modes[1].shape = uniform
			}
			left -= hit
		}
		return m
	}, []rule{p.percentile(0.99, 0.7*pause/p.work), errors(0.001, 2000)}
}

// single is M/M/1.
func single(s *site) (server, []rule) {
	p := s.calm(1, 0.8)
	return func(dt, n float64) moment { return p.answer(dt, n, 1, 0, exponential) },
		[]rule{p.mean(6), errors(0.001, 2000)}
}

// eight is M/G/8 with a broad distribution.
func eight(s *site) (server, []rule) {
	p := s.calm(8, 0.85)
	sh := spread(1)
	return func(dt, n float64) moment { return p.answer(dt, n, 1, 0, sh) },
		[]rule{p.percentile(0.95, 5), errors(0.001, 2000)}
}

// linear has a limit of CPU alone.
func linear(s *site) (server, []rule) {
	p := s.calm(4, 0.85)
	sh := spread(0.6)
	return func(dt, n float64) moment { return p.answer(dt, n, 1, 0, sh) },
		[]rule{cpu(0.85), errors(0.001, 2000)}
}

// slowHost is M/G/4 on a host whose speed wanders slowly, compared with a window of pace 0.1.
func slowHost(s *site) (server, []rule) {
	p := s.pool(4, 0.85)
	p.speed = s.wander(0.008, 0.015, 12, 30)
	sh := spread(0.6)
	return func(dt, n float64) moment { return p.answer(dt, n, 1, 0, sh) },
		[]rule{p.percentile(0.95, 5), errors(0.001, 2000)}
}
