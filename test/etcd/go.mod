// Tests of lease/etcdstore with real members of etcd.
module github.com/snowkey-go/snowkey/test/etcd

go 1.26.0

require (
	github.com/snowkey-go/snowkey v0.1.0
	github.com/snowkey-go/snowkey/lease/etcdstore v0.1.0
	go.etcd.io/etcd/client/v3 v3.6.5
	go.etcd.io/etcd/etcdctl/v3 v3.6.5
	go.etcd.io/etcd/etcdutl/v3 v3.6.5
	go.etcd.io/etcd/server/v3 v3.6.5
)
