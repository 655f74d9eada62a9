module github.com/snowkey-go/snowkey/token/redistoken

go 1.26.0

require (
	github.com/redis/go-redis/v9 v9.7.3
	github.com/snowkey-go/snowkey v0.1.0
)

require (
	github.com/cespare/xxhash/v2 v2.2.0 // indirect
	github.com/dgryski/go-rendezvous v0.0.0-20200823014737-9f7001d12a5f // indirect
)
