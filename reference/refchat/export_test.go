package refchat

import "context"

// SendDue posts the scheduled posts that are due now, without waiting for the server's own time.
func SendDue(ctx context.Context, s *Server) error { return s.sendDue(ctx) }
