module github.com/snowkey-go/snowkey/service/client

go 1.26.0

require github.com/snowkey-go/snowkey v0.1.0
