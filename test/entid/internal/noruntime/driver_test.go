package noruntime

import _ "github.com/glebarez/go-sqlite" // the driver "sqlite"
