// Package mattermost writes a population as the file that Mattermost's bulk import reads: one JSON
// object per line, in the order that its public documentation "Bulk loading data" demands, that is
// version, teams, channels, users with their memberships, posts with their replies, direct and
// group channels, and their posts.
//
// Only fields are used that servers have known since 5.20. Read states and thread followers are the
// server's to make: bulk import has had fields for them only in later versions.
//
// [Write] streams: besides the population it keeps a chunk of posts and four bytes for each
// membership of a team's channel. [Check] is a reader of its own that holds a file to the
// documentation: unknown and missing fields, order, names, sizes, and that everything that a line
// mentions has come before.
//
// The package does not know servers: it sends nothing. On the server's host the file is imported by
//
//	mattermost import bulk FILE --workers 4            # reports errors, changes nothing
//	mattermost import bulk FILE --workers 4 --apply
//
// and from version 6 on, packed into a zip, by mmctl import. Attachments are next to the file, in
// the directory "attachments"; their paths in the file are relative to the directory of the file.
package mattermost
