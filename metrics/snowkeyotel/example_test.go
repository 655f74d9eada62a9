package snowkeyotel_test

import (
	"context"
	"fmt"
	"log"

	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/idgen/worker"
	"github.com/snowkey-go/snowkey/metrics/snowkeyotel"
)

func ExampleRegister() {
	ids, err := idgen.NewPool(idgen.Config{Worker: worker.Static(3)}) // in production, use snowkey.Open
	if err != nil {
		log.Fatal(err)
	}
	defer ids.Close(context.Background())
	reader := metric.NewManualReader() // most programs use an exporter instead
	provider := metric.NewMeterProvider(metric.WithReader(reader))
	if _, err := snowkeyotel.Register(provider, ids); err != nil {
		log.Fatal(err)
	}

	if _, err := ids.NextN(context.Background(), 5); err != nil {
		log.Fatal(err)
	}
	var data metricdata.ResourceMetrics
	if err := reader.Collect(context.Background(), &data); err != nil {
		log.Fatal(err)
	}
	for _, m := range data.ScopeMetrics[0].Metrics {
		if sum, ok := m.Data.(metricdata.Sum[int64]); ok && m.Name == "snowkey.ids.issued" {
			fmt.Println(m.Name, sum.DataPoints[0].Value)
		}
	}
	// Output: snowkey.ids.issued 5
}
