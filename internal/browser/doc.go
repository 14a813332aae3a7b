// Package browser drives a headless Chromium for tests, over two pipes, by the DevTools protocol.
// Only tests import it. It knows nothing of the pages that it opens.
package browser
