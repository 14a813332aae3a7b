package api

// noPost is the server's identifier for a post that does not exist, or not any more. With another
// status it means that the server could not read the post.
const noPost = "app.post.get.app_error"

// expected are the answers of single operations that are right when another user was faster. Each
// identifier was read in the server's sources, and has one meaning there with this status.
//
// Not among them, and so errors: the answer to a reply whose root was deleted (400
// api.post.create_post.root_id.app_error) and to a bookmark that was deleted (404
// app.channel.bookmark.get.app_error), because it is the same when the database fails; the answer
// of the 5.x line to a post of the user's own that was deleted with its root (403, no permission),
// because that has many causes; and threads that the user does not follow (404
// app.user.get_thread_membership_for_user.not_found), because a deletion is not known to lead
// there.
var expected = []struct {
	op     op
	status int
	id     string
	why    string // for the table of docs/method/workload.md
}{
	{
		opGetThread,
		404,
		noPost,
		"the post was deleted, by itself or with its root, since the user saw it",
	},
	{opReadThread, 404, noPost, "the thread's root was deleted since the user read the inbox"},
	{opReact, 404, noPost, "the post was deleted since the user saw it"},
	{opAck, 404, noPost, "the post was deleted since the user saw it"},
}

// anticipated reports whether an operation's unwanted answer is an expected one.
func anticipated(o op, e *OpError) bool {
	for _, x := range expected {
		if x.op == o && x.status == e.Status && x.id == e.Code {
			return true
		}
	}
	return false
}
