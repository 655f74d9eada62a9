package redisstore

import (
	"fmt"
	"strings"

	"github.com/snowkey-go/snowkey/lease"
)

// grants is what a user of the server must be allowed to do.
const grants = "~snowkey:* +evalsha +eval +time +hget +hmget +hgetall +hset"

// A remedy says what to do about an error of the server, which starts with prefix.
type remedy struct {
	prefix    string
	permanent bool // whether a retry can't help
	text      string
}

var remedies = []remedy{
	{"NOAUTH", true, "give the client a user name and a password"},
	{"ERR Protocol error: unauthenticated", true, "give the client a user name and a password"}, // the server checks the size of the request first
	{"WRONGPASS", true, "correct the client's user name and password"},
	{"ERR invalid password", true, "correct the client's password"},
	{"ERR Client sent AUTH", true, "remove the client's password, or set one on the server"},
	{"ERR AUTH", true, "remove the client's password, or set one on the server"},
	{"NOPERM", true, "run: ACL SETUSER name " + grants},
	{"ERR The user executing the script", true, "run: ACL SETUSER name " + grants},
	{"MOVED", true, "the server is part of a Redis Cluster; use redis.NewClusterClient"},
	{"ASK", true, "the server is part of a Redis Cluster; use redis.NewClusterClient"},
	{"WRONGTYPE", true, "another program uses a key that starts with snowkey:; rename its key, or use another database number"},
	{"ERR unknown command", true, "the server or a proxy does not run scripts; connect to a Redis server of version 5 or later, or to Valkey"},
	{"ERR Error running script (call to", true, "the server does not run the script; use Redis 5 or later, or Valkey"},

	{"READONLY", false, "the server is a replica; connect to the primary, for example with redis.NewFailoverClient"},
	{"MISCONF", false, "the server can't save its data, so it refuses writes; check its disk and its log"},
	{"OOM", false, "the server has reached maxmemory; raise it, or delete keys"},
	{"LOADING", false, "the server is starting; wait until it has loaded its data"},
	{"BUSY", false, "another script keeps the server busy; run SCRIPT KILL"},
	{"NOREPLICAS", false, "too few replicas are connected for min-replicas-to-write; start them"},
	{"CLUSTERDOWN", false, "the cluster is not available; check CLUSTER INFO"},
	{"MASTERDOWN", false, "the replica has lost its primary; connect to the primary"},
	{"TRYAGAIN", false, "the cluster is moving the keys; try again"},
}

// explain converts an error of the client into the corresponding error of package lease.
// The text of the server does not contain a password.
func explain(err error) error {
	for _, r := range remedies {
		if !strings.HasPrefix(err.Error(), r.prefix) {
			continue
		}
		if r.permanent {
			return &lease.PermanentError{Err: fmt.Errorf("redisstore: %w", err), Remedy: r.text}
		}
		return fmt.Errorf("redisstore: %w; %s", err, r.text)
	}
	return fmt.Errorf("redisstore: %w", err)
}
