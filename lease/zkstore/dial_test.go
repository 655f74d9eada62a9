package zkstore

import (
	"net"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/snowkey-go/snowkey/internal/errtest"
)

// A server accepts connections and never answers. The client must leave it for another one.
func TestDialerLeavesAServerThatHangs(t *testing.T) {
	listen := func() net.Listener {
		l := errtest.Must(net.Listen("tcp", "127.0.0.1:0"))(t)
		t.Cleanup(func() { l.Close() })
		return l
	}
	servers := []net.Listener{listen(), listen()}
	accepted := make(chan int, 100)
	for i, l := range servers {
		go func() {
			for {
				conn, err := l.Accept()
				if err != nil {
					return
				}
				defer conn.Close()
				accepted <- i
			}
		}()
	}
	conn, _, err := zk.Connect([]string{servers[0].Addr().String(), servers[1].Addr().String()}, 30*time.Second,
		zk.WithDialer(Dialer(100*time.Millisecond)), zk.WithLogInfo(false))
	errtest.NoError(t, err)
	t.Cleanup(conn.Close)
	seen := map[int]bool{}
	for len(seen) < 2 {
		select {
		case i := <-accepted:
			seen[i] = true
		case <-time.After(30 * time.Second): // without the limit it is 200 s
			t.Fatalf("the client has tried %v", seen)
		}
	}
}
