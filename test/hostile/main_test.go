package hostile

import (
	"flag"
	"io"
	"log"
	"os"
	"testing"

	mysqldriver "github.com/go-sql-driver/mysql"
)

func TestMain(m *testing.M) {
	// The driver logs every connection that was closed by the server, and several of
	// these settings cause just that.
	_ = mysqldriver.SetLogger(log.New(io.Discard, "", 0))
	flag.Parse()
	flag.Set("test.parallel", "16") // whatever the number of processors, since these tests mostly wait
	os.Exit(m.Run())
}
