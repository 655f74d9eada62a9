module github.com/snowkey-go/snowkey/vet

go 1.26.0

require golang.org/x/tools v0.47.0
