module example.org/calls/v3

go 1.21
