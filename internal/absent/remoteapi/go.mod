module github.com/prometheus/client_golang/exp

go 1.26.0
