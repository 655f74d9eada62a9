// Tests that migration tools run the files of snowkey migrate plan --files.
module github.com/snowkey-go/snowkey/test/migrations

go 1.26.0

require (
	ariga.io/atlas v0.31.0
	github.com/glebarez/go-sqlite v1.23.0
	github.com/golang-migrate/migrate/v4 v4.18.1
	github.com/pressly/goose/v3 v3.24.1
	github.com/snowkey-go/snowkey v0.1.0
	github.com/snowkey-go/snowkey/internal/dbtest v0.1.0
)
