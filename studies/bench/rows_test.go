package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Each program of others is told the server's address once, in its arguments or its standard input.
func TestPeersAreToldTheAddress(t *testing.T) {
	const url = "http://127.0.0.1:1"
	s := setup{root: "../..", peers: t.TempDir()}
	heard := filepath.Join(s.peers, "heard")
	program := "#!/bin/sh\n{ printf '%s\\n' \"$@\"; cat; } >" + heard + "\n"
	for _, name := range []string{"wrk", "vegeta", "oha", "k6", "locust"} {
		if err := os.WriteFile(filepath.Join(s.peers, name), []byte(program), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	dir := filepath.Join(s.root, "studies", "bench", "scripts")
	ours := (&setup{alone: true}).clients(dir)
	for _, peer := range s.clients(dir)[len(ours):] {
		p, err := peer.start(t.Context(), url)
		if err != nil {
			t.Fatal(peer.name, err)
		}
		<-p.Done()
		text, err := os.ReadFile(heard)
		if err != nil || strings.Count(string(text), url) != 1 || strings.Contains(string(text), "{") ||
			peer.name == "k6" && !strings.Contains(string(text), "\nBASE_URL="+url+"\n") {
			t.Errorf("%s: %s, %v", peer.name, text, err)
		}
	}
}
