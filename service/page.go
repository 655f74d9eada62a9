package service

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"html/template"
	"net/http"
	"strings"

	"github.com/snowkey-go/snowkey/internal/keeper"
	"github.com/snowkey-go/snowkey/service/internal/idpage"
)

// The page for people is plain HTML. It doesn't need scripts and doesn't load anything.

var pageTemplate = template.Must(template.New("page").Parse(idpage.Template))

// pagePolicy only allows the page's own style and its form.
var pagePolicy = func() string {
	sum := sha256.Sum256([]byte(idpage.Style))
	return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
}()

// pageData is what the template draws.
type pageData struct {
	Path    string // of the page itself, relative to it
	Style   template.CSS
	ID      string        // what the user entered
	Decoded template.HTML // its fields, or what is wrong with it
	Invalid bool          // whether it isn't an id
	State   *statusReply  // as GET /v1/status returns it; nil on the page without a server
	Leases  *pageLeases   // nil if we don't know the store
}

// pageLeases lists the worker numbers that are leased in a namespace.
type pageLeases struct {
	Namespace string
	Problem   string // why we can't list them, if so
	Workers   []pageWorker
	Layouts   bool // whether they have more than one layout
	More      int  // how many are not shown
}

type pageWorker struct {
	keeper.Worker
	Own bool // whether it is that of this process
}

// maxWorkers limits the number of worker numbers that the page lists.
const maxWorkers = 1000

// A page shows the bits of an id and the state of the process. Since browsers can't send a
// bearer token, people enter the token as a password, with any user name.
type page struct{ *server }

func (s page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("Cache-Control", "no-store")
	header.Set("Content-Security-Policy", pagePolicy)
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("X-Content-Type-Options", "nosniff")
	if !s.allowsPerson(r) {
		header.Set("WWW-Authenticate", `Basic realm="Snowkey: any user, a token as the password", charset="UTF-8"`)
		http.Error(w, "the page needs one of the service's tokens as the password; the user name does not matter", http.StatusUnauthorized)
		return
	}
	status := http.StatusOK
	state := s.state()
	data := pageData{Path: "./", Style: template.CSS(idpage.Style), State: &state, Leases: s.leases(r.Context())}
	if data.ID = strings.TrimSpace(r.URL.Query().Get("id")); data.ID != "" {
		decoded, ok := idpage.Decode(s.pool.Layout(), false, data.ID)
		data.Decoded, data.Invalid = template.HTML(decoded), !ok
		if !ok {
			data.ID = fmt.Sprintf("%.40s", data.ID)
			status = http.StatusBadRequest
		}
	}
	var body bytes.Buffer
	if err := pageTemplate.Execute(&body, data); err != nil {
		write(w, err)
		return
	}
	header.Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(body.Bytes())
}

// allowsPerson is like allows, but also accepts the token as the password of basic
// authentication.
func (s *server) allowsPerson(r *http.Request) bool {
	_, password, ok := r.BasicAuth()
	if !ok {
		return s.allows(r)
	}
	return s.allows(&http.Request{Header: http.Header{"Authorization": {"Bearer " + password}}})
}

// leases reads the leases of the namespace.
func (s page) leases(ctx context.Context) *pageLeases {
	if s.cfg.Store == nil {
		return nil
	}
	leases := &pageLeases{Namespace: s.cfg.Namespace}
	ctx, cancel := context.WithTimeout(ctx, s.cfg.MaxWait)
	defer cancel()
	workers, err := keeper.Workers(ctx, s.cfg.Store, s.cfg.Namespace, false)
	if err != nil {
		leases.Problem = err.Error()
		return leases
	}
	if len(workers) > maxWorkers {
		leases.More = len(workers) - maxWorkers
		workers = workers[:maxWorkers]
	}
	own, leased := s.pool.Worker()
	layout := s.pool.Layout().String()
	for _, w := range workers {
		leases.Layouts = leases.Layouts || w.Layout != workers[0].Layout
		leases.Workers = append(leases.Workers, pageWorker{w, leased && w.Number == own && w.Layout == layout && w.State == "leased"})
	}
	return leases
}
