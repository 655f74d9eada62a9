package service_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/idgen/worker"
	"github.com/snowkey-go/snowkey/internal/errtest"
	"github.com/snowkey-go/snowkey/service"
)

// A request for more ids than the layout allows at once gets the status 400 and the limit,
// because no replica could answer it.
func TestLimitOfTheLayout(t *testing.T) {
	ids := errtest.Must(idgen.NewPool(idgen.Config{Layout: idgen.JSSafe(), Worker: worker.Static(7)}))(t)
	defer ids.Close(context.Background())
	url := start(t, ids, service.Config{})
	status, _, body := call(t, "POST", url+"/v1/ids?count=10000", "")
	most := body.Error.Max
	if status != 400 || body.Error.Code != "invalid_count" || most < 1 || most >= 10_000 || !strings.Contains(body.Error.Message, strconv.Itoa(most)) {
		t.Fatalf("%d %+v", status, body.Error)
	}
	for count, want := range map[int]int{most + 1: 400, most: 200} {
		if status, _, body := call(t, "POST", fmt.Sprintf("%s/v1/ids?count=%d", url, count), ""); status != want || want == 200 && len(body.IDs) != count {
			t.Errorf("%d ids: %d %+v, and %d ids", count, status, body.Error, len(body.IDs))
		}
	}
}

// The limit of the rate counts ids, so a client can't get more by asking for many at once.
func TestRateCountsIDs(t *testing.T) {
	url := start(t, newPool(t), service.Config{Rate: 500, MaxBatch: 1000})
	if status, _, body := call(t, "POST", url+"/v1/ids?count=501", ""); status != 400 || body.Error.Max != 500 {
		t.Errorf("more ids than in a second: %d %+v", status, body.Error)
	}
	granted := 0
	for range 20 {
		if status, _, body := call(t, "POST", url+"/v1/ids?count=500", ""); status == 200 {
			granted += len(body.IDs)
		} else if status != 429 || body.Error.RetryAfterSeconds <= 0 || body.Error.RetryAfterSeconds > 1 {
			t.Errorf("%d %+v", status, body.Error)
		}
	}
	if granted < 500 || granted > 9_000 { // 500 at once, and 500 in each second that the test takes
		t.Errorf("20 requests for 500 ids got %d", granted)
	}
}

// What a request doesn't mean is refused, not ignored: a misspelled count would be 1.
func TestOddRequests(t *testing.T) {
	url := start(t, newPool(t), service.Config{})
	for _, c := range []struct{ method, path, body, code string }{
		{"POST", "/v1/ids?count=2&count=3", "", "invalid_query"},
		{"POST", "/v1/ids?cuont=2", "", "invalid_query"},
		{"POST", "/v1/ids?Count=2", "", "invalid_query"},
		{"POST", "/v1/ids?count=2;nonce=1", "", "invalid_query"},
		{"POST", "/v1/ids?count=%zz", "", "invalid_query"},
		{"POST", "/v1/ids?count=", "", "invalid_count"},
		{"POST", "/v1/ids?format=", "", "invalid_format"},
		{"GET", "/v1/ids/12?count=2", "", "invalid_query"},
		{"GET", "/v1/status?x", "", "invalid_query"},
		{"POST", "/v1/ids", `{"count":2}`, "unexpected_body"},
		{"GET", "/v1/ids/12", "x", "unexpected_body"},
	} {
		r := errtest.Must(http.NewRequestWithContext(t.Context(), c.method, url+c.path, strings.NewReader(c.body)))(t)
		for _, chunked := range []bool{false, true} {
			if r.ContentLength = int64(len(c.body)); chunked {
				r.ContentLength = -1
			}
			r.Body, _ = r.GetBody()
			response := errtest.Must(http.DefaultClient.Do(r))(t)
			var body reply
			errtest.NoError(t, json.NewDecoder(response.Body).Decode(&body))
			response.Body.Close()
			if response.StatusCode != 400 || body.Error.Code != c.code {
				t.Errorf("%s %s %s: %s %+v", c.method, c.path, c.body, response.Status, body.Error)
			}
		}
	}
}

// The document lists exactly the codes that the code has.
func TestCodesOfOpenAPI(t *testing.T) {
	text := errtest.Must(os.ReadFile("openapi.yaml"))(t)
	list := regexp.MustCompile(`(?s)code:\s+type: string\s+enum: \[(.*?)\]`).FindSubmatch(text)
	if list == nil {
		t.Fatal("the document has no codes")
	}
	listed := strings.Split(string(list[1]), ", ")
	used := map[string]bool{"clock_behind": true}
	for state := idgen.Unleased; state <= idgen.Closed; state++ {
		used[state.String()] = true
	}
	for _, name := range []string{"service.go", "listen.go"} {
		source := errtest.Must(os.ReadFile(name))(t)
		for _, m := range regexp.MustCompile(`code: "(\w+)"`).FindAllSubmatch(source, -1) {
			used[string(m[1])] = true
		}
	}
	for _, code := range listed {
		if !used[code] {
			t.Errorf("the document has the code %s, which nothing uses", code)
		}
	}
	for code := range used {
		if !slices.Contains(listed, code) {
			t.Errorf("the document lacks the code %s", code)
		}
	}
}
