package api

import "context"

var (
	opReact     = newOp("react", "POST /reactions", mayCreate)
	opReactions = newOp("reactions", "GET /posts/{}/reactions", setup)
)

// Reactions reads who reacted to a post: user id and emoji's name of each.
func (c *Client) Reactions(ctx context.Context, postID string) (users, emojis []string, err error) {
	err = c.do(ctx, opReactions, nil, func(b []byte) error {
		return eachIn(b, func(v []byte) error {
			user, emoji := "", ""
			err := fields(v, "user_id", &user, "emoji_name", &emoji)
			if err = require(err, emoji != "", "a reaction without emoji"); err == nil {
				err = shows(v, "post_id", postID, "user_id", "")
			}
			users, emojis = append(users, user), append(emojis, emoji)
			return err
		})
	}, postID)
	return users, emojis, err
}

// React adds the user's reaction, an emoji's name without colons, to a post.
func (c *Client) React(ctx context.Context, userID, postID, emoji string) error {
	b := object(c.body(), "user_id", userID, "post_id", postID, "emoji_name", emoji)
	return c.do(ctx, opReact, b, shown("post_id", postID, "user_id", userID, "emoji_name", emoji))
}
