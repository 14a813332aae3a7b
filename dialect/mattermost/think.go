package mattermost

import (
	"math/rand/v2"
	"time"
)

const (
	minThink = 1000  // ms
	avgThink = 20000 // ms
)

// think draws a pause: whole milliseconds, uniform on [1 s, 39 s), as at factor 1.
func think(r *rand.Rand) time.Duration {
	return time.Duration(minThink+r.IntN(2*(avgThink-minThink))) * time.Millisecond
}
