package refchat

import (
	"testing"
	"time"
)

// A value that was set while an older one was being read stays.
func TestCacheKeepsWhatWasSetMeanwhile(t *testing.T) {
	c := newCache[string](time.Hour, 160)
	_, gen, _ := c.get("ann")    // a reader misses, and queries the database
	c.set("ann", "online")       // ann acts
	c.put("ann", "offline", gen) // the reader comes back with the earlier value
	if v, _, ok := c.get("ann"); !ok || v != "online" {
		t.Errorf("%q, %v", v, ok)
	}
}
