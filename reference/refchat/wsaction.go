package refchat

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"
)

// wsRequest is a message of a client.
type wsRequest struct {
	Seq    int64          `json:"seq"`
	Action string         `json:"action"`
	Data   map[string]any `json:"data"`
}

func (r *wsRequest) text(key string) string {
	v, _ := r.Data[key].(string)
	return v
}

// answer queues the reply to a request; a reader must not overtake the writer for long, so it waits
// for room.
func (k *wsSocket) answer(r *wsRequest, data any, err error) {
	out := struct {
		Status   string    `json:"status"`
		SeqReply int64     `json:"seq_reply,omitempty"`
		Data     any       `json:"data,omitempty"`
		Error    *apiError `json:"error,omitempty"`
	}{Status: "OK", SeqReply: r.Seq, Data: data}
	if err != nil {
		out.Status, out.Data = "FAIL", nil
		if out.Error, _ = errors.AsType[*apiError](err); out.Error == nil ||
			out.Error.StatusCode >= 500 && out.Error.cause != nil {
			k.s.log.Error("websocket request", "action", r.Action, "err", err)
			out.Error = errInternal
		}
	}
	b, err := json.Marshal(out)
	if err != nil {
		return
	}
	select {
	case k.c.queue <- wsItem{reply: append(b, '\n')}:
	case <-k.done:
	}
}

// act carries out one request.
func (k *wsSocket) act(r *wsRequest) (any, error) {
	s := k.s
	ctx, cancel := context.WithTimeout(s.bgCtx, 30*time.Second)
	defer cancel()
	switch {
	case r.Action == "":
		return nil, badRequest("api.web_socket_router.no_action.app_error", "No websocket action.")
	case r.Seq <= 0:
		return nil, badRequest(
			"api.web_socket_router.bad_seq.app_error",
			"Invalid sequence for WebSocket message.",
		)
	case r.Action == "authentication_challenge":
		return nil, k.challenged(ctx, r)
	case k.sess == nil:
		return nil, newError(
			http.StatusUnauthorized,
			"api.web_socket_router.not_authenticated.app_error",
			"WebSocket connection is not authenticated. Please log in and try again.",
		)
	}
	if _, err := s.session(ctx, k.sess.Token); err != nil { // it may have been logged out
		return nil, err
	}
	switch r.Action {
	case "ping":
		return map[string]any{
			"text":        "pong",
			"version":     s.cfg.Version,
			"server_time": millis(),
			"node_id":     "",
		}, nil
	case "user_typing":
		return nil, k.typing(ctx, r)
	case "get_statuses":
		roles := map[string]string{}
		s.statuses.each(func(id string, x *status) { roles[id] = x.Status })
		return roles, nil
	case "get_statuses_by_ids":
		return k.statuses(ctx, r)
	case "user_update_active_status":
		if active, ok := r.Data["user_is_active"].(bool); ok && active {
			s.setOnline(ctx, k.sess.UserID)
		}
		return nil, nil
	case "posted_notify_ack": // the real server counts these, too
		if !validID(r.text("post_id")) {
			return nil, badRequest(
				"api.websocket_handler.invalid_param.app_error",
				"Invalid post_id parameter.",
			)
		}
		s.met.notifyAcks.Inc()
		return nil, nil
	case "presence": // newer clients send the open view; nothing depends on it here
		return nil, nil
	}
	return nil, newError(
		http.StatusInternalServerError,
		"api.web_socket_router.bad_action.app_error",
		"Unknown WebSocket action.",
	)
}

// challenged opens the session of a token, unless the connection has one.
func (k *wsSocket) challenged(ctx context.Context, r *wsRequest) error {
	if k.sess != nil {
		return nil
	}
	sess, err := k.s.session(ctx, r.text("token"))
	if err == nil {
		k.start(sess)
	}
	return err
}

// statuses returns the statuses of the users that a request names, by their IDs.
func (k *wsSocket) statuses(ctx context.Context, r *wsRequest) (any, error) {
	list, _ := r.Data["user_ids"].([]any)
	var ids []string
	for _, v := range list {
		if id, ok := v.(string); ok && validID(id) {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return nil, badRequest(
			"api.websocket_handler.invalid_param.app_error",
			"Invalid user_ids parameter.",
		)
	}
	found, err := k.s.statusesOf(ctx, ids)
	out := map[string]string{}
	for _, x := range found {
		out[x.UserID] = x.Status
	}
	return out, err
}

// typing notifies a channel's other members that a user types.
func (k *wsSocket) typing(ctx context.Context, r *wsRequest) error {
	id := r.text("channel_id")
	if !validID(id) || k.s.mustReadChannel(ctx, k.sess, id) != nil {
		return badRequest("api.websocket_handler.invalid_param.app_error",
			"Invalid channel_id parameter.")
	}
	me := k.sess.UserID
	k.s.publish("typing", broadcast{ChannelID: id, OmitUsers: map[string]bool{me: true}},
		"parent_id", r.text("parent_id"), "user_id", me)
	return nil
}
