package matrix

import (
	"context"
	"reflect"
	"strconv"
	"sync"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/keytype"
	"github.com/snowkey-go/snowkey/schema/pk"
)

// A keyType is a type that a key can have, as the page calls it.
type keyType string

const (
	idKey     keyType = "pk.ID"
	typedKey  keyType = "pk.Of[T]"
	stringKey keyType = "pk.String"
	textKey   keyType = "pk.Text"
	sortKey   keyType = "pk.SortText"
	int64Key  keyType = "int64"
)

var keyTypes = []keyType{idKey, typedKey, stringKey, textKey, sortKey, int64Key}

// column is the type of its column, which all databases know.
func (k keyType) column() string {
	switch k {
	case textKey:
		return "VARCHAR(20)"
	case sortKey:
		return "CHAR(13)"
	}
	return "BIGINT"
}

// text is a key as it is in the column.
func (k keyType) text(key int64) string {
	if k == sortKey {
		return pk.SortText(key).String()
	}
	return strconv.FormatInt(key, 10)
}

// literal is a key in SQL.
func (k keyType) literal(key int64) string {
	if k.column() == "BIGINT" {
		return k.text(key)
	}
	return "'" + k.text(key) + "'"
}

// parse takes what text makes, and nothing else.
func (k keyType) parse(text string) (int64, error) {
	if k == sortKey {
		key, err := pk.ParseSort(text)
		return key.Int64(), err
	}
	key, err := pk.Parse(text)
	return key.Int64(), err
}

// keyOf makes a key of type K. 0 is the zero value.
func keyOf[K any](number int64) K {
	var key K
	if number != 0 {
		keytype.Set(reflect.ValueOf(&key).Elem(), number)
	}
	return key
}

// numberOf is the number of a key; it is -1 if that is none.
func numberOf(key any) int64 {
	switch v := reflect.ValueOf(key); v.Kind() {
	case reflect.Int64:
		return v.Int()
	case reflect.String:
		if v.Len() == 0 {
			return 0
		}
		if number, err := strconv.ParseInt(v.String(), 10, 64); err == nil {
			return number
		}
	}
	return -1
}

// A source hands out pairs of neighbours far above 2^53, with a gap after each pair.
// Adjacent ids are equal as float64. The gaps reveal code that counts up from one id
// instead of keeping all ids.
type source struct {
	mu   sync.Mutex
	out  int64 // ids handed out
	left int   // ids until it fails; never if negative
}

const firstID = 1<<60 + 1

// errSource is how the source fails.
var errSource error = &idgen.ClockError{Behind: 7}

func newSource() *source { return &source{left: -1} }

func (s *source) Next(ctx context.Context) (int64, error) {
	ids, err := s.Append(ctx, nil, 1)
	if err != nil {
		return 0, err
	}
	return ids[0], nil
}

func (s *source) Append(_ context.Context, dst []int64, n int) ([]int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.left >= 0 {
		if n > s.left {
			return dst, errSource
		}
		s.left -= n
	}
	for range n {
		dst = append(dst, firstID+s.out/2*1000+s.out%2)
		s.out++
	}
	return dst, nil
}

// issued reports whether the source has handed out an id.
func (s *source) issued(id int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	pair, place := (id-firstID)/1000, (id-firstID)%1000
	return id >= firstID && place < 2 && 2*pair+place < s.out
}

// sourceKey carries the source to the hooks of models, in the context.
type sourceKey struct{}

// sourceOf returns nil for a context without one.
func sourceOf(ctx context.Context) idgen.Source {
	s, _ := ctx.Value(sourceKey{}).(idgen.Source)
	return s
}
