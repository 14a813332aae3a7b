package dumps

import (
	"fmt"
	"strings"

	"plimsoll/plan"
	"plimsoll/reference/dataset"
)

// sizes estimate the bytes of a dump with all indexes, by engine: base for the schema, post for
// each of the first million posts, more for each further one. They are fitted to dumps of the
// preset million with 200 thousand and with 1 million posts, and of the preset seed-000 with 12
// million: PostgreSQL 15.18 took 311,101,913, 1,139,485,145 and 12.30 GB, MariaDB 10.11.19
// 698,990,203, 2,067,578,520 and 20.13 GB.
var sizes = []struct {
	engine           string
	base, post, more int64
}{
	{plan.PostgreSQL, 54_000_000, 1035, 1001},
	{plan.MySQL, 307_000_000, 1711, 1628},
}

const (
	bent          = 1_000_000  // posts, beyond which more applies
	measuredPosts = 12_000_000 // of the largest measured dump
)

// BytesOn estimates the size of a loaded population on an engine in bytes, indexes included; 0 for
// an unknown engine.
func BytesOn(engine string, s dataset.Spec) int64 {
	for _, x := range sizes {
		if x.engine == engine {
			first := int64(min(s.Posts, bent)) * x.post
			rest := int64(max(s.Posts-bent, 0)) * x.more
			return x.base + first + rest + int64(s.Users)*6000 + int64(s.Channels)*2000
		}
	}
	return 0
}

// BytesOf returns the larger of the estimates for the engines.
func BytesOf(s dataset.Spec) (most int64) {
	for _, x := range sizes {
		most = max(most, BytesOn(x.engine, s))
	}
	return most
}

// BytesText describes the estimates and their source.
func BytesText(s dataset.Spec) string {
	var parts []string
	for _, x := range sizes {
		gb := float64(BytesOn(x.engine, s)) / 1e9
		parts = append(parts, fmt.Sprintf("%.1f GB on %s", gb, x.engine))
	}
	text := "about " + strings.Join(parts, " and ") +
		", as measured with 200,000, 1,000,000 and 12,000,000 posts"
	if s.Posts > measuredPosts {
		text += " and extrapolated from them"
	}
	return text
}
