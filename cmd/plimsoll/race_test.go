//go:build race

package main

// raceDetector says that memory is not this program's own: the detector's takes several times as much.
const raceDetector = true
