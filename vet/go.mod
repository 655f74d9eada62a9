module github.com/snowkey-go/snowkey/vet

go 1.26.0

require (
	github.com/bufbuild/protocompile v0.14.1
	github.com/golangci/plugin-module-register v0.1.2
	github.com/vektah/gqlparser/v2 v2.5.64
	go.yaml.in/yaml/v3 v3.0.5
	golang.org/x/tools v0.47.0
)

require (
	golang.org/x/mod v0.37.0 // indirect
	golang.org/x/sync v0.21.0 // indirect
	google.golang.org/protobuf v1.34.2 // indirect
)
