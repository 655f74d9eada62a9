module github.com/snowkey-go/snowkey/metrics/snowkeyprom

go 1.26.0

require (
	github.com/prometheus/client_golang v1.20.5
	github.com/snowkey-go/snowkey v0.1.0
)
