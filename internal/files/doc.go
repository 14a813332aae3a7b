// Package files reads and replaces files so that neither a hostile name nor a power failure does
// harm.
//
// [Open] and [Read] take regular files only: a named pipe without a writer would block, and a
// device such as /dev/zero has no end.
//
// [Replace], [ReplaceMode] and [Settle] put a file in the place of another in one step, and return
// when the new one would survive a power failure: the content is on disk before the name leads to
// it, and the directory after that. internal/arch allows renaming in this package only.
//
// The package knows no format but lines of JSON ([ReadJSONLines]). Its functions are safe for
// concurrent use.
package files
