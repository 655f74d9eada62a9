package etcdstore

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	mvccpb "go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/snowkey-go/snowkey/internal/protocol"
	"github.com/snowkey-go/snowkey/lease"
)

// keys builds the keys of one namespace. Names are escaped as in the path of a URL, so
// that no name contains a slash.
type keys string

func (s *Store) keys(namespace string) keys { return keys(s.prefix + url.PathEscape(namespace) + "/") }

// time is the key of the agreed time. It is never lowered.
func (k keys) time() string { return string(k) + "time" }

// alive is the key that exists while some process vouches for the agreed time.
func (k keys) alive() string { return string(k) + "alive" }

// position is the key of the position at which the next layout is added.
func (k keys) position() string { return string(k) + "position" }

func (k keys) layouts() string             { return string(k) + "layouts/" }
func (k keys) layout(layout string) string { return k.layouts() + url.PathEscape(layout) }
func (k keys) rows() string                { return string(k) + "rows/" }

func (k keys) rowsOf(layout string) string { return k.rows() + url.PathEscape(layout) + "/" }

// row returns the key of a row. Workers have 19 digits, so that the order of the keys is
// the order of the workers.
func (k keys) row(layout string, worker int64) string {
	return k.rowsOf(layout) + encodeNumber(worker)
}

// layoutOf returns the layout in the key of a layout or a row.
func layoutOf(key, prefix string) (string, error) {
	name, _, _ := strings.Cut(strings.TrimPrefix(key, prefix), "/")
	return url.PathUnescape(name)
}

// A namespace is the value of a layout's key.
type namespace struct {
	Version     int    `json:"version"` // of the protocol
	Fingerprint string `json:"fingerprint"`
	Fence       int64  `json:"fence"`
}

// A row is the value of a row's key.
type row struct {
	Token    string `json:"token"`
	Revision int64  `json:"revision"`
	Bound    int64  `json:"bound"`
	Expires  int64  `json:"expires_at"` // microseconds since 1970
	Label    string `json:"label"`
	Cluster  string `json:"cluster"` // the cluster in which the row was claimed; "" if it was never claimed
}

func (r row) leased(worker, now int64) lease.Row {
	return lease.Row{Worker: worker, Token: r.Token, Revision: r.Revision, Bound: r.Bound, Expires: r.Expires, Label: r.Label, Now: now}
}

func rowOf(r lease.Row, cluster string) row {
	return row{Token: r.Token, Revision: r.Revision, Bound: r.Bound, Expires: r.Expires, Label: r.Label, Cluster: cluster}
}

func encode(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err) // the types above have nothing that JSON can't represent
	}
	return string(text)
}

// decode decodes the value of a key. If kv is nil, it returns the zero value.
func decode[T any](kv *mvccpb.KeyValue) (value T, err error) {
	if kv == nil {
		return value, nil
	}
	if err := json.Unmarshal(kv.Value, &value); err != nil {
		return value, damaged(kv, err)
	}
	return value, nil
}

func damaged(kv *mvccpb.KeyValue, err error) error {
	return &lease.PermanentError{
		Err:    fmt.Errorf("etcdstore: the value of the key %q is not one of Snowkey's: %w", kv.Key, err),
		Remedy: "use another prefix, or restore the key",
	}
}

// decodeNamespace also checks the protocol version.
func decodeNamespace(kv *mvccpb.KeyValue) (namespace, error) {
	ns, err := decode[namespace](kv)
	if err == nil && kv != nil && ns.Version != protocol.Version {
		return namespace{}, &lease.VersionError{Where: fmt.Sprintf("the key %q", kv.Key), Found: strconv.Itoa(ns.Version)}
	}
	return ns, err
}

// encodeNumber writes 19 digits, so that etcd can compare two numbers as texts.
func encodeNumber(n int64) string { return fmt.Sprintf("%019d", max(n, 0)) }

// decodeNumber returns 0 if kv is nil.
func decodeNumber(kv *mvccpb.KeyValue) (int64, error) {
	if kv == nil {
		return 0, nil
	}
	n, err := strconv.ParseInt(string(kv.Value), 10, 64)
	if err != nil {
		return 0, damaged(kv, err)
	}
	return n, nil
}

// unchanged is the condition that a key has the value that was read, or that it still
// does not exist if kv is nil. It doesn't compare revisions, because after a snapshot was
// restored, etcd gives the same revisions to other values.
func unchanged(key string, kv *mvccpb.KeyValue) clientv3.Cmp {
	if kv == nil {
		return clientv3.Compare(clientv3.CreateRevision(key), "=", 0)
	}
	return clientv3.Compare(clientv3.Value(key), "=", string(kv.Value))
}

// only returns the only key of an answer, or nil if there is none.
func only(kvs []*mvccpb.KeyValue) *mvccpb.KeyValue {
	if len(kvs) == 0 {
		return nil
	}
	return kvs[0]
}
