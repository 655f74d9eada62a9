module github.com/snowkey-go/snowkey/hooks/bunid

go 1.26.0

require github.com/snowkey-go/snowkey v0.1.0

require github.com/uptrace/bun v1.2.16

require (
	github.com/jinzhu/inflection v1.0.0 // indirect
	github.com/puzpuzpuz/xsync/v3 v3.5.1 // indirect
	github.com/tmthrgd/go-hex v0.0.0-20190904060850-447a3041c3bc // indirect
	github.com/vmihailenco/msgpack/v5 v5.4.1 // indirect
	github.com/vmihailenco/tagparser/v2 v2.0.0 // indirect
	golang.org/x/sys v0.38.0 // indirect
)
