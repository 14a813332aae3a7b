package refchat

import (
	"context"
	"time"
)

// SendDue posts the scheduled posts that are due at an instant, without waiting for it.
func SendDue(ctx context.Context, s *Server, at time.Time) error {
	return s.sendDue(ctx, at)
}

// RemindOnce sends the reminders due at a time.
func (s *Server) RemindOnce(ctx context.Context, now time.Time) error {
	return s.remindOnce(ctx, now)
}
