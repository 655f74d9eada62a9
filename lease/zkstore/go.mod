module github.com/snowkey-go/snowkey/lease/zkstore

go 1.26.0

require (
	github.com/go-zookeeper/zk v1.0.4
	github.com/snowkey-go/snowkey v0.1.0
)
