module cloud.google.com/go/compute/metadata

go 1.26.0
