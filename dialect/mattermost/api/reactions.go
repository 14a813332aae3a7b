package api

import (
	"context"
	"fmt"
	"net/url"

	"plimsoll/load/wire"
)

var (
	opReact     = newOp("react")
	opReactions = newSetupOp("reactions")
)

// Reactions reads who reacted to a post: user id and emoji's name of each.
func (c *Client) Reactions(ctx context.Context, postID string) (users, emojis []string, err error) {
	err = c.get(ctx, opReactions, "/posts/"+url.PathEscape(postID)+"/reactions", func(resp *wire.Response) error {
		if string(resp.Body) == "null" {
			return nil
		}
		return eachElement(resp.Body, func(v []byte) error {
			var user, emoji string
			err := eachField(v, func(k, v []byte) error {
				switch string(k) {
				case "user_id":
					user = string(text(v))
				case "emoji_name":
					emoji = string(text(v))
				}
				return nil
			})
			if err == nil && emoji == "" {
				err = fmt.Errorf("%w: a reaction without emoji", ErrEffect)
			}
			if err == nil {
				err = shows(v, "post_id", postID, "user_id", "")
			}
			users, emojis = append(users, user), append(emojis, emoji)
			return err
		})
	})
	return users, emojis, err
}

// React adds the user's reaction, an emoji's name without colons, to a post.
func (c *Client) React(ctx context.Context, userID, postID, emoji string) error {
	return c.send(ctx, opReact, "/reactions", func(b []byte) []byte {
		return object(b, "user_id", userID, "post_id", postID, "emoji_name", emoji)
	}, shown("post_id", postID, "user_id", userID, "emoji_name", emoji), 200, 201)
}
