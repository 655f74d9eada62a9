module github.com/snowkey-go/snowkey/service

go 1.26.0

require (
	github.com/snowkey-go/snowkey v0.1.0
	golang.org/x/net v0.49.0
	golang.org/x/time v0.8.0
)
