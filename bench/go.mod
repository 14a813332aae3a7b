module plimsoll/bench

go 1.26.0

replace plimsoll => ../

require plimsoll v0.0.0

require (
	golang.org/x/net v0.61.0 // indirect
	golang.org/x/sys v0.49.0 // indirect
	golang.org/x/text v0.43.0 // indirect
)
