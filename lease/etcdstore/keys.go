package etcdstore

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	mvccpb "go.etcd.io/etcd/api/v3/mvccpb"

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

// layouts is the key of the namespace's text, which has the layouts with their fences.
func (k keys) layouts() string { return string(k) + "layouts" }

func (k keys) rows() string { return string(k) + "rows/" }

func (k keys) rowsOf(layout string) string { return k.rows() + url.PathEscape(layout) + "/" }

// row returns the key of a row. Workers have 19 digits, so that the order of the keys is
// the order of the workers.
func (k keys) row(layout string, worker int64) string {
	return k.rowsOf(layout) + encodeNumber(worker)
}

// layoutOf returns the layout in the key of a row.
func layoutOf(key, prefix string) (string, error) {
	name, _, _ := strings.Cut(strings.TrimPrefix(key, prefix), "/")
	return url.PathUnescape(name)
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

// only returns the only key of an answer, or nil if there is none.
func only(kvs []*mvccpb.KeyValue) *mvccpb.KeyValue {
	if len(kvs) == 0 {
		return nil
	}
	return kvs[0]
}
