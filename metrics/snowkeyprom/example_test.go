package snowkeyprom_test

import (
	"context"
	"fmt"
	"log"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/idgen/worker"
	"github.com/snowkey-go/snowkey/metrics/snowkeyprom"
)

func ExampleNewCollector() {
	ids, err := idgen.NewPool(idgen.Config{Worker: worker.Static(3)}) // in production, use snowkey.Open
	if err != nil {
		log.Fatal(err)
	}
	defer ids.Close(context.Background())
	registry := prometheus.NewRegistry()
	registry.MustRegister(snowkeyprom.NewCollector(ids))

	if _, err := ids.NextN(context.Background(), 5); err != nil {
		log.Fatal(err)
	}
	metrics, err := registry.Gather()
	if err != nil {
		log.Fatal(err)
	}
	for _, m := range metrics {
		if m.GetName() == "snowkey_ids_issued_total" {
			fmt.Println(m.GetName(), m.GetMetric()[0].GetCounter().GetValue())
		}
	}
	// Output: snowkey_ids_issued_total 5
}
