package redisstore

import (
	"context"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/snowkey-go/snowkey"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/lease"
	"github.com/snowkey-go/snowkey/lease/redisstore"
)

// setUp has the code of docs/stores.md.
func setUp(ctx context.Context, options *redis.Options) error {
	client := redis.NewClient(options)
	defer client.Close()
	ids, err := snowkey.Open(ctx, redisstore.New(client), snowkey.Config{Namespace: "orders"})
	if err != nil {
		return err
	}
	defer ids.Close(ctx) // releases the worker number, so it must come before client.Close
	idgen.SetDefault(ids)
	_, err = ids.Next(ctx)
	return err
}

// fence is the call in the runbook of docs/stores.md.
func fence(ctx context.Context, client *redis.Client) error {
	err := snowkey.Fence(ctx, redisstore.New(client), snowkey.Config{Namespace: "orders"})
	return err
}

// doctor is the call in docs/stores.md that examines a server.
func doctor(ctx context.Context, client *redis.Client) ([]lease.Finding, error) {
	report, err := snowkey.Doctor(ctx, redisstore.New(client), snowkey.Config{Namespace: "orders"})
	return report, err
}

func TestCodeOfThePage(t *testing.T) {
	t.Parallel()
	source := string(dbtest.Must(os.ReadFile("setup_test.go"))(t))
	_, page, _ := strings.Cut(string(dbtest.Must(os.ReadFile("../../docs/stores.md"))(t)), "\n## Redis and Valkey\n")
	page, _, _ = strings.Cut(page, "\n## ")
	_, code, _ := strings.Cut(page, "```go\n")
	code, _, ok := strings.Cut(code, "```")
	if !ok || !strings.Contains(source, "\t"+strings.ReplaceAll(strings.TrimSpace(code), "\n", "\n\t")) {
		t.Errorf("this file does not have the code of the page:\n%s", code)
	}
	server := dbtest.Redis("--appendonly", "yes").Start(t)
	client := connect(t, server.Address)
	dbtest.NoError(t, setUp(t.Context(), &redis.Options{Addr: server.Address}))
	dbtest.NoError(t, fence(t.Context(), client))
	report, err := doctor(t.Context(), client)
	if err != nil || len(report) != 1 || report[0].Kind != "volatile" {
		t.Errorf("%+v, %v", report, err)
	}
	// Each redis-cli command of the page runs.
	for _, m := range regexp.MustCompile("(?m)^redis-cli (.*)$").FindAllStringSubmatch(page, -1) {
		var args []any
		for word := range strings.FieldsSeq(m[1]) {
			args = append(args, strings.Trim(word, "'"))
		}
		if err := client.Do(t.Context(), args...).Err(); err != nil {
			t.Errorf("redis-cli %s: %v", m[1], err)
		}
	}
}
