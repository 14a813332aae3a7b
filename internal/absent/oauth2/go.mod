module golang.org/x/oauth2

go 1.26.0
