// Package ui holds the console's page as built: one HTML file, one script, one style sheet, and the
// licenses of its libraries. The sources are in src, and BUILD.md has the command that builds them.
// It serves nothing and knows no route.
package ui

import (
	"embed"
	"io/fs"
)

//go:embed dist
var dist embed.FS

// Files has index.html, app.js, app.css and licenses.txt at its root. The page refers to /app.js,
// /app.css and /licenses.txt, and to no other host; it needs script-src, style-src and connect-src
// 'self', frame-src 'self' for documents, and img-src data: for its icon.
func Files() fs.FS {
	files, err := fs.Sub(dist, "dist")
	if err != nil {
		panic(err) // the name is a constant
	}
	return files
}
