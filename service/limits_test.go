package service_test

import (
	"context"
	"fmt"
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
		if status, header, body := call(t, "POST", url+"/v1/ids?count=500", ""); status == 200 {
			granted += len(body.IDs)
		} else if e := body.Error; status != 429 || e.Code != "rate_limited" || e.RetryAfterSeconds <= 0 || e.RetryAfterSeconds > 1 || header.Get("Retry-After") != "1" {
			t.Errorf("%d %+v, %v", status, e, header)
		}
	}
	if granted < 500 || granted > 9_000 { // 500 at once, and 500 in each second that the test takes
		t.Errorf("20 requests for 500 ids got %d", granted)
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
