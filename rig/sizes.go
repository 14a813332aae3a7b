package rig

import (
	"fmt"
	"strings"

	"plimsoll/plan"
	"plimsoll/reference/dataset"
)

// sizes are bytes of a dump with all indexes, by engine, from dumps of the preset million with 200 thousand and with
// 1 million posts, and of the preset seed-000 with 12 million: PostgreSQL 15.18 took 311,101,913, 1,139,485,145 and
// 12.30 GB, MariaDB 10.11.19 698,990,203, 2,067,578,520 and 20.13 GB. more is of a post beyond the first million.
var sizes = []struct {
	engine           string
	base, post, more int64
}{
	{plan.PostgreSQL, 54_000_000, 1035, 1001},
	{plan.MySQL, 307_000_000, 1711, 1628},
}

const (
	// bent is the number of posts beyond which one takes more's bytes, and measuredPosts that of the largest dump.
	bent          = 1_000_000
	measuredPosts = 12_000_000
)

// BytesOn estimates the size of a loaded population on an engine, indexes included: between the measured dumps as they
// are, beyond them by extrapolation.
func BytesOn(engine string, s dataset.Spec) int64 {
	for _, x := range sizes {
		if x.engine == engine {
			return x.base + int64(min(s.Posts, bent))*x.post + int64(max(s.Posts-bent, 0))*x.more + int64(s.Users)*6000 + int64(s.Channels)*2000
		}
	}
	return 0
}

// BytesOf is the larger of the estimates for the engines.
func BytesOf(s dataset.Spec) (most int64) {
	for _, x := range sizes {
		most = max(most, BytesOn(x.engine, s))
	}
	return most
}

// BytesText describes the estimates, and where they come from.
func BytesText(s dataset.Spec) string {
	var parts []string
	for _, x := range sizes {
		parts = append(parts, fmt.Sprintf("%.1f GB on %s", float64(BytesOn(x.engine, s))/1e9, x.engine))
	}
	text := "about " + strings.Join(parts, " and ") + ", as measured with 200,000, 1,000,000 and 12,000,000 posts"
	if s.Posts > measuredPosts {
		text += " and extrapolated from them"
	}
	return text
}
