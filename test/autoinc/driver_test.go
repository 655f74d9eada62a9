package autoinc_test

import _ "github.com/glebarez/go-sqlite" // the driver "sqlite"
