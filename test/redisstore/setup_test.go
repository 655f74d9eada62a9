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

// setUp is the code of docs/redis.md.
func setUp(ctx context.Context, options *redis.Options) error {
	// docs/redis.md: set-up
	client := redis.NewClient(options)
	defer client.Close()
	ids, err := snowkey.Open(ctx, redisstore.New(client), snowkey.Config{Namespace: "orders"})
	if err != nil {
		return err
	}
	defer ids.Close(ctx) // releases the worker number, so it must come before client.Close
	idgen.SetDefault(ids)
	// end
	_, err = ids.Next(ctx)
	return err
}

// fence is the code of the runbook in docs/redis.md.
func fence(ctx context.Context, client *redis.Client) error {
	// docs/redis.md: fence
	err := snowkey.Fence(ctx, redisstore.New(client), snowkey.Config{Namespace: "orders"})
	// end
	return err
}

// doctor is the code of docs/redis.md that examines a server.
func doctor(ctx context.Context, client *redis.Client) ([]lease.Finding, error) {
	// docs/redis.md: doctor
	report, err := snowkey.Doctor(ctx, redisstore.New(client), snowkey.Config{Namespace: "orders"})
	// end
	return report, err
}

func TestCodeOfThePage(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("setup_test.go")
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../../docs/redis.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(string(page), -1)
	parts := regexp.MustCompile(`(?s)\t// docs/redis.md: [\w-]+\n(.*?)\t// end\n`).FindAllStringSubmatch(string(source), -1)
	if len(blocks) != len(parts) {
		t.Fatalf("the page has %d blocks of code, and this file has %d", len(blocks), len(parts))
	}
	for _, block := range blocks {
		code := regexp.MustCompile(`(?m)^(.)`).ReplaceAllString(block[1], "\t$1")
		found := false
		for _, part := range parts {
			found = found || part[1] == code
		}
		if !found {
			t.Errorf("this file does not have the code\n%s", block[1])
		}
	}

	server := dbtest.Redis("--appendonly", "yes").Start(t)
	client := connect(t, server.Address)
	if err := setUp(t.Context(), &redis.Options{Addr: server.Address}); err != nil {
		t.Fatal(err)
	}
	if err := fence(t.Context(), client); err != nil {
		t.Error(err)
	}
	report, err := doctor(t.Context(), client)
	if err != nil || len(report) != 1 || report[0].Kind != "volatile" {
		t.Errorf("%+v, %v", report, err)
	}
	// Each redis-cli command of the page runs.
	for _, m := range regexp.MustCompile("(?m)^redis-cli (.*)$").FindAllStringSubmatch(string(page), -1) {
		var args []any
		for word := range strings.FieldsSeq(m[1]) {
			args = append(args, strings.Trim(word, "'"))
		}
		if err := client.Do(t.Context(), args...).Err(); err != nil {
			t.Errorf("redis-cli %s: %v", m[1], err)
		}
	}
}
