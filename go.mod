module github.com/snowkey-go/snowkey

go 1.26.0
