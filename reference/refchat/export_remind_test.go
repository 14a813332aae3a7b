package refchat

import (
	"context"
	"time"
)

// RemindOnce sends the reminders due at a time.
func (s *Server) RemindOnce(ctx context.Context, now time.Time) error { return s.remindOnce(ctx, now) }
