package report

import (
	"slices"

	"plimsoll/load/measure"
	"plimsoll/load/workload"
)

func sideCell(h *measure.Histogram) SideCell {
	c := SideCell{Count: h.Count(), Mean: unknown}
	if c.Count > 0 {
		c.Mean = inMS(h.Mean())
	}
	c.P50, c.P95, _ = quantilesMS(h)
	return c
}

// sideTolerance is the largest difference between the numbers of requests of both sides, as a part
// of the larger one, at which their means are compared: requests at the edges of the phase end
// within it on one side alone.
const sideTolerance = 0.01

// sides fills Document.Sides.
func (b *builder) sides() {
	for _, e := range b.Engines {
		t := SideTable{Engine: e.Key}
		type pair struct{ client, server measure.Histogram }
		merged := map[[2]string]*pair{}
		var names []string
		for _, a := range b.Arms {
			for _, r := range b.of(e.Key, a.Name) {
				for name, w := range r.Server {
					client := r.Ops[name]
					if client == nil || !workload.Steady(name) {
						continue
					}
					p := merged[[2]string{name, a.Name}]
					if p == nil {
						p = new(pair)
						merged[[2]string{name, a.Name}] = p
					}
					p.client.Merge(client.Response)
					p.server.Merge(w.Response)
					if !slices.Contains(names, name) {
						names = append(names, name)
					}
				}
			}
		}
		slices.Sort(names)
		for _, name := range names {
			for _, a := range b.Arms {
				p := merged[[2]string{name, a.Name}]
				if p == nil {
					continue
				}
				row := SideRow{
					Name:    name,
					Arm:     a.Name,
					Client:  sideCell(&p.client),
					Server:  sideCell(&p.server),
					Between: unknown,
				}
				x, y := float64(row.Client.Count), float64(row.Server.Count)
				if x > 0 && y > 0 && max(x, y)-min(x, y) <= sideTolerance*max(x, y) {
					row.Between = row.Client.Mean - row.Server.Mean
				}
				t.Rows = append(t.Rows, row)
			}
		}
		if len(t.Rows) > 0 {
			b.Sides = append(b.Sides, t)
		}
	}
}

func (d Document) sideSections() []section {
	var out []section
	for _, s := range d.Sides {
		t := newTable("Operation", "Arm", ">Requests, client", ">server", ">Mean ms, client",
			">server", ">Between", ">p50 ms, client", ">server", ">p95 ms, client", ">server")
		for _, r := range s.Rows {
			c, v := r.Client, r.Server
			t.add(
				r.Name,
				d.armLabel(r.Arm),
				c.Count,
				v.Count,
				c.Mean,
				v.Mean,
				r.Between,
				c.P50,
				v.P50,
				c.P95,
				v.P95,
			)
		}
		out = append(out,
			t.section("Client and server"+dashLabel(d.engineLabel(s.Engine)),
				"All judged runs merged; the measured phase by each side's own clock. Client: from the moment a request was due until its answer was read. Server: what the target's telemetry says, from routing to answer. "+
					"Between is the difference of the means: connection, kernel, queue and scheduling on both ends. Percentiles have no such difference.")...)
	}
	return out
}
