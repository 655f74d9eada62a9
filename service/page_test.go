package service

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/errtest"
	"github.com/snowkey-go/snowkey/lease"
	"github.com/snowkey-go/snowkey/lease/filestore"
)

func getPage(t *testing.T, url string) (int, http.Header, string) {
	t.Helper()
	return send(t, request(t, "GET", url))
}

// The page must show the fields of exactly the id that was pasted. Its neighbour has another
// sequence.
func TestPageDecodes(t *testing.T) {
	ids := newPool(t)
	address := start(t, ids, Config{})
	two := errtest.Must(ids.NextN(t.Context(), 2))(t)
	for _, id := range two {
		status, _, text := getPage(t, fmt.Sprintf("%s/?id=+%d+", address, id))
		parts := ids.Layout().Decode(id)
		for _, want := range []string{fmt.Sprintf("The fields of %d<", id), parts.Time.Format("2006-01-02 15:04:05.999 MST"),
			fmt.Sprintf("%012b", parts.Sequence), fmt.Sprintf("<td>%d</td><td>counts within", parts.Sequence), "<td>7</td><td>the process"} {
			if status != 200 || !strings.Contains(text, want) {
				t.Errorf("%d: the page of %d has no %q", status, id, want)
			}
		}
	}
}

// What a user writes is refused if it is no id, and never becomes HTML.
func TestPageProblem(t *testing.T) {
	address := start(t, newPool(t), Config{})
	for _, text := range []string{"-1", "9223372036854775808", "1.5", "<script>alert(1)</script>", `"><b>`} {
		status, header, body := getPage(t, address+"/?id="+url.QueryEscape(text))
		if status != 400 || !strings.Contains(body, `aria-describedby="problem"`) || !strings.Contains(body, `id="problem"`) || strings.Contains(body, "<script") || strings.Contains(body, "<b>") {
			t.Errorf("%q: %d\n%s", text, status, body)
		}
		if header.Get("Cache-Control") != "no-store" {
			t.Errorf("%q: Cache-Control is %q", text, header.Get("Cache-Control"))
		}
	}
}

// With tokens, the page needs one of them as the password, and never shows it.
func TestPageTokens(t *testing.T) {
	const first, second = "0123456789abcdef0123456789abcdef", "0123456789abcdef0123456789abcdeg"
	address := start(t, newPool(t), Config{Tokens: []string{first, second}})
	for _, c := range []struct {
		password string
		status   int
	}{{"", 401}, {first[:15], 401}, {first + "0", 401}, {"0123456789abcdeh", 401}, {first, 200}, {second, 200}} {
		r := request(t, "GET", address)
		if c.password != "" {
			r.SetBasicAuth("anyone", c.password)
		}
		status, header, body := send(t, r)
		if status != c.status || strings.Contains(body, first[:15]) || strings.Contains(body, "Worker number") != (status == 200) {
			t.Errorf("%q: %d\n%s", c.password, status, body)
		}
		if challenge := header.Get("WWW-Authenticate"); (status == 401) != strings.HasPrefix(challenge, "Basic ") {
			t.Errorf("%q: WWW-Authenticate is %q", c.password, challenge)
		}
	}
}

// The page has no script and loads nothing, and its policy forbids both. It can be used with
// the keyboard.
func TestPageLoadsNothing(t *testing.T) {
	address := start(t, newPool(t), Config{})
	_, header, body := getPage(t, address+"/?id=280421183266521089")
	if !strings.HasPrefix(header.Get("Content-Security-Policy"), "default-src 'none'; style-src 'sha256-") {
		t.Errorf("the policy is %q", header.Get("Content-Security-Policy"))
	}
	// People who use the keyboard see which control has the focus, and reach them in this order.
	if !strings.Contains(body, ":focus-visible{outline:3px solid") || regexp.MustCompile(`tabindex="?[^"0]`).MatchString(body) {
		t.Errorf("the focus is not drawn, or goes another way:\n%s", body)
	}
	if found := regexp.MustCompile(`(?i)<script|<link|<img|<iframe|\ssrc=|\sstyle=|\son[a-z]+=|url\(|@import|//`).FindString(body); found != "" {
		t.Errorf("the page has %q", found)
	}
}

// The page says how long the lease lasts, and that there is none once it was given back.
func TestPageLease(t *testing.T) {
	ids := errtest.Must(snowkey.Open(t.Context(), filestore.Dir(t.TempDir()), snowkey.Config{MaxClockSkew: 10 * time.Millisecond}))(t)
	defer ids.Close(context.Background())
	url := start(t, ids, Config{})
	if _, _, text := getPage(t, url); !strings.Contains(text, "<dd>serving</dd>") || !regexp.MustCompile(`<dd>allows ids for another \d+\.?\d*m?s unless`).MatchString(text) {
		t.Errorf("with a lease:\n%s", text)
	}
	errtest.NoError(t, ids.Suspend(t.Context()))
	if _, _, text := getPage(t, url); !strings.Contains(text, "<dd>unleased</dd>") || !strings.Contains(text, "<dt>Lease</dt><dd>none</dd>") {
		t.Errorf("without a lease:\n%s", text)
	}
}

// The page lists the leases of all processes of the namespace, and says which one is its own.
func TestPageLeases(t *testing.T) {
	store := filestore.Dir(t.TempDir())
	open := func(namespace, label string) *idgen.Pool {
		ids := errtest.Must(snowkey.Open(t.Context(), store, snowkey.Config{Namespace: namespace, Label: label, MaxClockSkew: 10 * time.Millisecond}))(t)
		t.Cleanup(func() { _ = ids.Close(context.Background()) })
		return ids
	}
	read := func(ids *idgen.Pool, cfg Config) string {
		status, _, text := getPage(t, start(t, ids, cfg))
		if status != 200 {
			t.Errorf("%d\n%s", status, text)
		}
		return text
	}
	first, second := open("orders", "first <b>"), open("orders", "second")
	open("bills", "third")
	row := regexp.MustCompile(`<tr><th scope="row">(\d+)</th><td>(\w+)</td><td>20[^<]* UTC</td><td>20[^<]* UTC</td><td>([^<]*)</td></tr>`)
	for i, ids := range []*idgen.Pool{first, second} {
		text := read(ids, Config{Store: store, Namespace: "orders"})
		own := []string{"", ""}
		own[i] = " (this process)"
		want := fmt.Sprint([][]string{{"0", "leased", "first &lt;b&gt;" + own[0]}, {"1", "leased", "second" + own[1]}})
		got := [][]string{}
		for _, m := range row.FindAllStringSubmatch(text, -1) {
			got = append(got, m[1:])
		}
		if fmt.Sprint(got) != want || strings.Contains(text, "third") {
			t.Errorf("got %v, want %v\n%s", got, want, text)
		}
	}
	if text := read(first, Config{}); strings.Contains(text, "leases-title") {
		t.Errorf("without a store:\n%s", text)
	}
	if text := read(first, Config{Store: unreadable{store}}); !strings.Contains(text, "The leases cannot be read: lease: the store failed to read: the disk is gone") || !strings.Contains(text, "<dd>serving</dd>") {
		t.Errorf("with a store that fails:\n%s", text)
	}
	for n, want := range map[int]string{maxWorkers: "", maxWorkers + 1: "<p>1 more are not shown."} {
		text := read(first, Config{Store: crowded{store, n}, Namespace: "orders"})
		if got := strings.Count(text, "<tr><th scope=\"row\">"); got != maxWorkers || strings.Contains(text, "not shown") != (want != "") || !strings.Contains(text, want) {
			t.Errorf("%d workers: %d rows", n, got)
		}
	}
}

type unreadable struct{ lease.Store }

func (unreadable) Layouts(context.Context, string) ([]string, int64, error) {
	return nil, 0, errors.New("the disk is gone")
}

// crowded has n leases.
type crowded struct {
	lease.Store
	n int
}

func (c crowded) Rows(context.Context, lease.Terms, int64, int64) ([]lease.Row, error) {
	rows := make([]lease.Row, c.n)
	for i := range rows {
		rows[i] = lease.Row{Worker: int64(i), Token: "t", Expires: 1, Label: "one of many"}
	}
	return rows, nil
}
