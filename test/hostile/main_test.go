package hostile

import (
	"io"
	"log"
	"os"
	"testing"

	mysqldriver "github.com/go-sql-driver/mysql"
)

func TestMain(m *testing.M) {
	// The driver logs each connection that the server has closed, which is what
	// several of these settings do.
	_ = mysqldriver.SetLogger(log.New(io.Discard, "", 0))
	os.Exit(m.Run())
}
