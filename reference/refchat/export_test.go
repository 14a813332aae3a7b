package refchat

import (
	"context"
	"time"
)

// SendDue posts the scheduled posts that are due at an instant, without waiting for it.
func SendDue(ctx context.Context, s *Server, at time.Time) error {
	return s.sendDue(ctx, at.UnixMilli())
}
