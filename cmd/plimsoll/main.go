// Command plimsoll loads a messaging server with simulated users, finds how many it supports, and
// reports whether a release, a database or a deployment has changed that.
//
// Run "plimsoll help" for the verbs and "plimsoll VERB -h" for the flags of one. Package verbs
// carries them out.
package main

import (
	"os"

	"plimsoll"
)

func main() { os.Exit(plimsoll.Main()) }
