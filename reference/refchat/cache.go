package refchat

import (
	"hash/maphash"
	"sync"
	"time"
)

const cacheShards = 16

// cache is a bounded map with a time to live, safe for concurrent use. A value that was loaded
// while its key's shard was being invalidated is used by its loader but not kept, so an
// invalidation is never undone by an older read.
type cache[V any] struct {
	ttl    time.Duration
	max    int // per shard
	seed   maphash.Seed
	shards [cacheShards]cacheShard[V]
	out    func() // called for each entry that makes room for another; may be nil
}

type cacheShard[V any] struct {
	mu  sync.RWMutex
	gen uint64
	m   map[string]cacheEntry[V]
}

type cacheEntry[V any] struct {
	v       V
	expires time.Time
}

func newCache[V any](ttl time.Duration, size int) *cache[V] {
	c := &cache[V]{ttl: ttl, max: max(1, size/cacheShards), seed: maphash.MakeSeed()}
	for i := range c.shards {
		c.shards[i].m = map[string]cacheEntry[V]{}
	}
	return c
}

func (c *cache[V]) shard(key string) *cacheShard[V] {
	return &c.shards[maphash.String(c.seed, key)%cacheShards]
}

// get returns the value kept for key and the shard's generation, which put takes.
func (c *cache[V]) get(key string) (v V, gen uint64, ok bool) {
	s := c.shard(key)
	s.mu.RLock()
	e, ok := s.m[key]
	gen = s.gen
	s.mu.RUnlock()
	return e.v, gen, ok && !time.Now().After(e.expires)
}

// put keeps v, which was read because get had nothing, unless the shard was invalidated since gen
// was read, or the key was set meanwhile: v is no newer than that.
func (c *cache[V]) put(key string, v V, gen uint64) {
	s := c.shard(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gen != gen {
		return
	}
	if e, ok := s.m[key]; ok && time.Now().Before(e.expires) {
		return
	}
	c.store(s, key, v)
}

// set keeps v in any case: for values whose truth is this process.
func (c *cache[V]) set(key string, v V) {
	s := c.shard(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	c.store(s, key, v)
}

// setIfAbsent keeps v and reports true if key was not there; otherwise it returns the present
// value.
func (c *cache[V]) setIfAbsent(key string, v V) (V, bool) {
	s := c.shard(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	if e, ok := s.m[key]; ok && time.Now().Before(e.expires) {
		return e.v, false
	}
	c.store(s, key, v)
	return v, true
}

func (c *cache[V]) store(s *cacheShard[V], key string, v V) {
	now := time.Now()
	if _, ok := s.m[key]; !ok && len(s.m) >= c.max {
		scanned := 0
		for k, e := range s.m { // a few random candidates: the expired ones, else any
			if now.After(e.expires) || scanned >= 8 {
				c.evict(s, k)
				break
			}
			scanned++
		}
		for k := range s.m {
			if len(s.m) < c.max {
				break
			}
			c.evict(s, k)
		}
	}
	s.m[key] = cacheEntry[V]{v: v, expires: now.Add(c.ttl)}
}

func (c *cache[V]) evict(s *cacheShard[V], key string) {
	delete(s.m, key)
	if c.out != nil {
		c.out()
	}
}

func (c *cache[V]) drop(key string) {
	s := c.shard(key)
	s.mu.Lock()
	delete(s.m, key)
	s.gen++
	s.mu.Unlock()
}

func (c *cache[V]) clear() {
	for i := range c.shards {
		s := &c.shards[i]
		s.mu.Lock()
		clear(s.m)
		s.gen++
		s.mu.Unlock()
	}
}

// through returns key's value from the cache or from load, which it then keeps. Errors are not
// kept.
func (c *cache[V]) through(key string, load func() (V, error)) (V, error) {
	v, gen, ok := c.get(key)
	if ok {
		return v, nil
	}
	v, err := load()
	if err != nil {
		return v, err
	}
	c.put(key, v, gen)
	return v, nil
}

// each calls fn for every kept value, one shard at a time; fn must not use the cache.
func (c *cache[V]) each(fn func(key string, v V)) {
	now := time.Now()
	for i := range c.shards {
		s := &c.shards[i]
		s.mu.RLock()
		for k, e := range s.m {
			if now.Before(e.expires) {
				fn(k, e.v)
			}
		}
		s.mu.RUnlock()
	}
}
