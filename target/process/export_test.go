package process

import "time"

// ReadyWithin sets how long an instance may take until it is ready.
func ReadyWithin(d time.Duration) Config { return Config{readyTimeout: d} }
