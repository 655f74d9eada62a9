package hostile

import (
	"flag"
	"testing"

	"github.com/go-sql-driver/mysql"
)

func TestMain(m *testing.M) {
	mysql.SetLogger(&mysql.NopLogger{}) // it would log every connection that these settings make the server close
	flag.Parse()
	flag.Set("test.parallel", "16") // whatever the number of processors, since these tests mostly wait
	m.Run()
}
