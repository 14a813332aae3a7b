package server

import "time"

// WithTimeout returns a configuration whose calls to a store may take as long as timeout returns
// for its role.
func WithTimeout(cfg Config, timeout func(role string) time.Duration) Config {
	cfg.timeout = timeout
	return cfg
}
