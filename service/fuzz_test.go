package service

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/idgen/worker"
	"github.com/snowkey-go/snowkey/internal/errtest"
)

// FuzzRequest checks that a request gets either the ids that it asks for, or an error with
// a code. It never makes the service fail.
func FuzzRequest(f *testing.F) {
	for _, query := range []string{"count=3", "count=3&format=ranges&nonce=n_1", "count=-1", "count=1&count=2", "cuont=1", "count=%zz", "count=1;x", "nonce=a%0d%0ab"} {
		f.Add(query, "text/plain", "")
		f.Add(query, "*/*", `{"count":3}`)
	}
	ids := errtest.Must(idgen.NewPool(idgen.Config{Worker: worker.Static(7)}))(f)
	defer ids.Close(context.Background())
	handler := errtest.Must(NewHandler(ids, Config{MaxBatch: 100}))(f)
	f.Fuzz(func(t *testing.T, query, accept, content string) {
		r := httptest.NewRequest("POST", "/v1/ids", strings.NewReader(content))
		r.URL.RawQuery = query
		r.Header.Set("Accept", accept)
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		var body struct {
			IDs   []string
			Error struct{ Code, Message string }
		}
		text := w.Header().Get("Content-Type") == "text/plain"
		if !text {
			if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil {
				t.Fatalf("%q: %s: %v", query, w.Body, err)
			}
		}
		want := 1
		if values, err := url.ParseQuery(query); err == nil && values.Has("count") {
			want, _ = strconv.Atoi(values.Get("count"))
		}
		switch w.Code {
		case http.StatusOK:
			if content != "" || want < 1 || want > 100 || !text && len(body.IDs) != want {
				t.Errorf("%q with the body %q gets %s", query, content, w.Body)
			}
		case http.StatusBadRequest:
			if body.Error.Code == "" || len(body.Error.Message) > 300 {
				t.Errorf("%q: %s", query, w.Body)
			}
		default:
			t.Errorf("%q: %d %s", query, w.Code, w.Body)
		}
	})
}
