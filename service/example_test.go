package service_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/idgen/worker"
	"github.com/snowkey-go/snowkey/service"
)

func Example() {
	ids, err := idgen.NewPool(idgen.Config{Worker: worker.Static(7)}) // for an example; otherwise use snowkey.Open
	if err != nil {
		fmt.Println(err)
		return
	}
	defer ids.Close(context.Background())
	handler, err := service.NewHandler(ids, service.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	server := httptest.NewServer(handler)
	defer server.Close()
	response, err := http.Post(server.URL+"/v1/ids?count=3", "", nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer response.Body.Close()
	var body struct {
		IDs []string `json:"ids"`
	}
	if err := json.NewDecoder(response.Body).Decode(&body); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(response.StatusCode, len(body.IDs))
	// Output: 200 3
}
