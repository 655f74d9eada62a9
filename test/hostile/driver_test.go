package hostile

import _ "github.com/glebarez/go-sqlite" // the driver "sqlite"
