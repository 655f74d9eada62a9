//go:build nightly && linux && (amd64 || arm64)

package etcd

import (
	"flag"
	"os"
	"testing"

	"go.etcd.io/etcd/etcdctl/v3/ctlv3"
	"go.etcd.io/etcd/etcdutl/v3/etcdutl"
	"go.etcd.io/etcd/server/v3/etcdmain"
)

// programEnv makes the test binary run as another program, in a process of its own.
const programEnv = "SNOWKEY_TEST_ETCD_PROGRAM"

func TestMain(m *testing.M) {
	switch os.Getenv(programEnv) {
	case "etcd":
		etcdmain.Main(os.Args)
	case "etcdctl":
		ctlv3.MustStart()
	case "etcdutl snapshot":
		if err := etcdutl.NewSnapshotCommand().Execute(); err != nil {
			os.Exit(1)
		}
	default:
		flag.Parse()
		flag.Set("test.parallel", "4") // whatever the number of processors, since these tests mostly wait
		os.Exit(m.Run())
	}
}
