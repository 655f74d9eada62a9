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

// setUp has the code of docs/redis.md, and so have the next two functions.
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

// fence is the code of the runbook in docs/redis.md.
func fence(ctx context.Context, client *redis.Client) error {
	err := snowkey.Fence(ctx, redisstore.New(client), snowkey.Config{Namespace: "orders"})
	return err
}

// doctor is the code of docs/redis.md that examines a server.
func doctor(ctx context.Context, client *redis.Client) ([]lease.Finding, error) {
	report, err := snowkey.Doctor(ctx, redisstore.New(client), snowkey.Config{Namespace: "orders"})
	return report, err
}

func TestCodeOfThePage(t *testing.T) {
	t.Parallel()
	page := dbtest.Must(os.ReadFile("../../docs/redis.md"))(t)
	server := dbtest.Redis("--appendonly", "yes").Start(t)
	client := connect(t, server.Address)
	dbtest.NoError(t, setUp(t.Context(), &redis.Options{Addr: server.Address}))
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
