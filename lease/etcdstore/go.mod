module github.com/snowkey-go/snowkey/lease/etcdstore

go 1.26.0

require (
	github.com/snowkey-go/snowkey v0.1.0
	go.etcd.io/etcd/api/v3 v3.5.0
	go.etcd.io/etcd/client/v3 v3.5.0
	google.golang.org/grpc v1.38.0
)
