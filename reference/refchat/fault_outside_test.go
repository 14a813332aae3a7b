package refchat_test

import (
	"crypto/tls"
	"net/http"
	"sync"
	"testing"
	"time"

	"plimsoll/reference/refchat"
)

func TestCheckFaultOutside(t *testing.T) {
	for _, good := range []string{"tls:2048", "dns:5ms", "workers:4", "outbound:2/20ms", "limit:50", "limit:50@createPost", "cache:16", "replica:5ms", "jitter:20ms"} {
		if err := refchat.CheckFault(good); err != nil {
			t.Errorf("%s: %v", good, err)
		}
	}
	for _, bad := range []string{"tls:512", "tls:no", "dns:5", "dns:2s", "workers:0", "outbound:2", "outbound:0/5ms", "outbound:2/0s", "limit:0", "limit:5@makePost", "limit:5@", "cache:15", "replica:", "jitter:-1ms", "workers:2@createPost"} {
		if err := refchat.CheckFault(bad); err == nil {
			t.Errorf("%s was accepted", bad)
		}
	}
}

// TestFaultDNSIsAskedByEachRequest counts, by the time that answers must at least have taken.
func TestFaultDNSIsAskedByEachRequest(t *testing.T) {
	w := newWorld(t, refchat.Config{DSN: database(t, "postgresql"), Faults: []string{"dns:4ms"}})
	before := w.anon.metric("refchat_fault_wait_seconds_total", "fault=dns")
	for range 20 {
		w.ann.send("GET", "/users/me/teams", nil)
	}
	if n := w.anon.metric("refchat_fault_wait_seconds_total", "fault=dns") - before; n < 0.08 {
		t.Errorf("20 requests waited %v s for names, want 0.08 at least", n)
	}
}

// TestFaultOutboundCallsAreBounded posts from eight users over one connection: each call waits for those before it.
func TestFaultOutboundCallsAreBounded(t *testing.T) {
	w := newWorld(t, refchat.Config{DSN: database(t, "postgresql"), Faults: []string{"outbound:1/25ms"}})
	before := w.anon.metric("refchat_fault_wait_seconds_total", "fault=outbound")
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			a := w.ann.send("POST", "/posts", obj{"channel_id": w.channel, "message": "x"})
			if a.status != 201 {
				t.Errorf("status %d: %s", a.status, a.body)
			}
		})
	}
	wg.Wait()
	if n := w.anon.metric("refchat_fault_wait_seconds_total", "fault=outbound") - before; n < 8*0.025 {
		t.Errorf("8 posts waited %v s for the service, want 0.2 at least", n)
	}
	if n := w.anon.metric("refchat_pool_wait_seconds_total", "pool=outbound"); n <= 0 {
		t.Errorf("nobody waited for a connection: %v s", n)
	}
}

func TestFaultLimitAnswers429(t *testing.T) {
	w := newWorld(t, refchat.Config{DSN: database(t, "postgresql"), Faults: []string{"limit:1@createPost"}})
	refused := 0
	for range 40 {
		switch a := w.ann.send("POST", "/posts", obj{"channel_id": w.channel, "message": "x"}); {
		case a.status == http.StatusTooManyRequests && a.header.Get("Retry-After") != "":
			refused++
		case a.status != http.StatusCreated:
			t.Fatalf("status %d: %s", a.status, a.body)
		}
		if a := w.ann.send("GET", "/users/me", nil); a.status != 200 {
			t.Fatalf("another handler: %d", a.status)
		}
	}
	if n := w.anon.metric("refchat_requests_refused_total"); refused == 0 || n != float64(refused) {
		t.Errorf("%d were refused, the server counts %v", refused, n)
	}
}

// TestFaultCacheGoesToTheDatabase counts statements: the same requests take more with a cache that holds one entry a
// shard.
func TestFaultCacheGoesToTheDatabase(t *testing.T) {
	statements := func(faults ...string) (n, evicted float64) {
		w := newWorld(t, refchat.Config{DSN: database(t, "postgresql"), Faults: faults})
		users := []*client{w.ann, w.bob}
		for i := range 40 {
			users = append(users, w.addUser("user"+string(rune('a'+i/10))+string(rune('a'+i%10))))
		}
		before := w.anon.metric("refchat_db_statements_total")
		for range 3 {
			for _, u := range users {
				u.send("GET", "/users/me", nil)
			}
		}
		return w.anon.metric("refchat_db_statements_total") - before, w.anon.metric("refchat_cache_evicted_total")
	}
	large, none := statements()
	small, evicted := statements("cache:16")
	if small < large+60 || none != 0 || evicted == 0 {
		t.Errorf("%v statements and %v evictions with small caches, %v and %v without", small, evicted, large, none)
	}
}

// TestFaultTLSHandshakes counts one handshake per connection, and serves plain HTTP on the same
// address.
func TestFaultTLSHandshakes(t *testing.T) {
	s := serve(t, refchat.Config{DSN: database(t, "postgresql"), Faults: []string{"tls:2048"}})
	plain := newClient(t, s)
	tr := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true, ClientSessionCache: tls.NewLRUClientSessionCache(8)}, DisableKeepAlives: true} //nolint:gosec // the key is made by the fault
	t.Cleanup(tr.CloseIdleConnections)
	secure := &client{t: t, url: "https://" + s.Addr(), http: &http.Client{Transport: tr, Timeout: 20 * time.Second}}
	for i := range 5 {
		if a := secure.send("GET", "/system/ping", nil); a.status != 200 {
			t.Fatalf("ping over TLS: %d", a.status)
		}
		if a := plain.send("GET", "/system/ping", nil); a.status != 200 {
			t.Fatalf("plain ping: %d", a.status)
		}
		if n := plain.metric("refchat_tls_handshakes_total"); n != float64(i+1) {
			t.Errorf("%v handshakes after %d connections", n, i+1)
		}
	}
}
