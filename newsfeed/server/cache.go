package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// cache keeps participants and lists of friends in Redis, as JSON without an end of life. It is
// filled by who reads (cache-aside); empty lists are not kept. A nil cache keeps nothing. Safe for
// concurrent use.
type cache struct {
	c      *redis.Client
	guards [256]sync.RWMutex // by participant: see guard
	turns  [256]uint64

	mu       sync.Mutex
	failures uint64
	// participants whose list could not be dropped, and the number of that failure
	stale map[int64]uint64
}

func newCache(addr string, conns int, timeout time.Duration) *cache {
	if addr == "" {
		return nil
	}
	return &cache{stale: map[int64]uint64{}, c: redis.NewClient(&redis.Options{
		Addr:                     addr,
		Protocol:                 2,
		DisableIdentity:          true,
		MaxRetries:               -1,
		DialerRetries:            1,
		ContextTimeoutEnabled:    true,
		DialTimeout:              timeout,
		ReadTimeout:              timeout,
		WriteTimeout:             timeout,
		PoolTimeout:              timeout,
		PoolSize:                 conns,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})}
}

func participantKey(id int64) string { return "Participant::" + strconv.FormatInt(id, 10) }
func friendsKey(id int64) string     { return "Friends::" + strconv.FormatInt(id, 10) }

// get reads a key into v and reports whether it was there. A value that is not JSON of v's form
// counts as absent.
func (c *cache) get(ctx context.Context, key string, v any) (bool, error) {
	b, err := c.c.Get(ctx, key).Bytes()
	if errors.Is(err, redis.Nil) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return json.Unmarshal(b, v) == nil, nil
}

func (c *cache) set(ctx context.Context, key string, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return c.c.Set(ctx, key, b, 0).Err()
}

// turn returns a number that changes whenever the friends of a participant do. A caller that reads
// them from the database gets it before, and hands it to keepFriends.
func (c *cache) turn(id int64) uint64 {
	g := uint64(id) % uint64(len(c.guards))
	c.guards[g].RLock()
	defer c.guards[g].RUnlock()
	return c.turns[g]
}

// keepFriends caches a list, unless a friendship was made since the turn: the list may lack it.
func (c *cache) keepFriends(ctx context.Context, id int64, turn uint64, list []friend) error {
	g := uint64(id) % uint64(len(c.guards))
	c.guards[g].RLock() // so that the list is there before dropFriends can go on, which removes it
	defer c.guards[g].RUnlock()
	if c.turns[g] != turn || len(list) == 0 {
		return nil
	}
	return c.set(ctx, friendsKey(id), list)
}

// dropFriends drops the lists of both sides of a new friendship. If it fails, the lists are not
// used until it has succeeded.
func (c *cache) dropFriends(ctx context.Context, ids ...int64) error {
	keys := make([]string, len(ids))
	for i, id := range ids {
		keys[i] = friendsKey(id)
		g := uint64(id) % uint64(len(c.guards))
		c.guards[g].Lock()
		c.turns[g]++
		c.guards[g].Unlock()
	}
	err := c.c.Del(ctx, keys...).Err()
	if err != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.failures++
		for _, id := range ids {
			c.stale[id] = c.failures
		}
	}
	return err
}

// believe makes sure that the cached list of a participant may be used: after a drop that failed it
// tries once more.
func (c *cache) believe(ctx context.Context, id int64) error {
	c.mu.Lock()
	failure, stale := c.stale[id]
	c.mu.Unlock()
	if !stale {
		return nil
	}
	if err := c.dropFriends(ctx, id); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stale[id] == failure { // else another drop has failed meanwhile
		delete(c.stale, id)
	}
	return nil
}

func (c *cache) Describe(ctx context.Context) (StoreInfo, error) {
	info := StoreInfo{Role: "cache", Name: "Redis", Real: true}
	text, err := c.c.Info(ctx, "server").Result()
	for line := range strings.Lines(text) {
		if v, ok := strings.CutPrefix(line, "redis_version:"); ok {
			info.Version = strings.TrimSpace(v)
		}
	}
	if err == nil && info.Version == "" {
		err = fmt.Errorf("it does not tell its version")
	}
	return info, err
}

func (c *cache) Close() error { return c.c.Close() }
