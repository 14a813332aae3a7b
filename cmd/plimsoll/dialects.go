package main

import (
	"plimsoll/dialect"
	"plimsoll/dialect/mattermost"
	"plimsoll/dialect/newsfeed"
)

// dialects are those that this program knows.
var dialects = dialect.Set{mattermost.Dialect, newsfeed.Dialect}
