package healthz_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/idgen/healthz"
	"github.com/snowkey-go/snowkey/idgen/worker"
)

func ExampleReady() {
	ids, err := idgen.NewPool(idgen.Config{Worker: worker.Static(9)}) // for the example only; use snowkey.Open instead
	if err != nil {
		log.Fatal(err)
	}
	defer ids.Close(context.Background())
	mux := http.NewServeMux()
	mux.Handle("GET /readyz", healthz.Ready(ids))

	answer := httptest.NewRecorder()
	mux.ServeHTTP(answer, httptest.NewRequest("GET", "/readyz", nil))
	fmt.Print(answer.Code, " ", answer.Body)
	// Output: 200 {"state":"serving","behindSeconds":0,"worker":9}
}
