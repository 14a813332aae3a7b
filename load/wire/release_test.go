package wire

import (
	"context"
	"errors"
	"net"
	"runtime"
	"testing"
	"time"
)

// A WebSocket that is read no more holds no memory, though the context of its reads lives on.
func TestWSReleaseLetsGo(t *testing.T) {
	url, _ := gorilla(t, false, echo)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	gone := make(chan struct{})
	func() {
		w, err := DialWS(ctx, WSConfig{URL: url, Timeout: time.Minute})
		must(t, err)
		must(t, w.WriteText(make([]byte, 100<<10)))
		if _, data, _, err := w.Read(ctx); err != nil || len(data) != 100<<10 {
			t.Fatalf("%d bytes, %v", len(data), err)
		}
		w.Release()
		if _, _, _, err := w.Read(ctx); !errors.Is(err, net.ErrClosed) {
			t.Errorf("a read after the release: %v", err)
		}
		if err := w.Close(CloseNormal, ""); err != nil {
			t.Error(err)
		}
		runtime.AddCleanup(w, func(c chan struct{}) { close(c) }, gone)
	}()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		runtime.GC()
		select {
		case <-gone:
			return
		default:
		}
	}
	t.Error("it is held")
}
