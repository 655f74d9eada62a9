package sqlsession_test

import _ "github.com/glebarez/go-sqlite" // registers the driver "sqlite"
