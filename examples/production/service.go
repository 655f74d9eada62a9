package main

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"os"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"gorm.io/gorm"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/idgen/healthz"
	"github.com/snowkey-go/snowkey/metrics/snowkeyprom"
	"github.com/snowkey-go/snowkey/schema/pk"
)

// A User has a key that becomes a string in JSON, because JavaScript would round
// numbers above 2^53.
type User struct {
	ID   pk.ID  `json:"id"`
	Name string `json:"name" gorm:"not null"`
}

type service struct {
	*http.ServeMux
	db     *gorm.DB
	readyz http.Handler
	ending atomic.Bool
}

func newService(db *gorm.DB, ids *idgen.Pool) *service {
	s := &service{ServeMux: http.NewServeMux(), db: db, readyz: healthz.Ready(ids)}
	s.HandleFunc("POST /users", s.create)
	s.HandleFunc("GET /users/{id}", s.get)
	s.Handle("GET /livez", healthz.Live(ids))
	s.HandleFunc("GET /readyz", s.ready)
	return s
}

func (s *service) create(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Name string `json:"name"`
	}
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<16)).Decode(&in); err != nil || in.Name == "" {
		http.Error(w, `want {"name":"…"}`, http.StatusBadRequest)
		return
	}
	user := User{Name: in.Name}
	if err := s.db.WithContext(r.Context()).Create(&user).Error; err != nil {
		fail(w, err)
		return
	}
	w.WriteHeader(http.StatusCreated)
	json.NewEncoder(w).Encode(user)
}

func (s *service) get(w http.ResponseWriter, r *http.Request) {
	id, err := pk.Parse(r.PathValue("id"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	var user User
	err = s.db.WithContext(r.Context()).First(&user, id).Error
	if errors.Is(err, gorm.ErrRecordNotFound) {
		http.NotFound(w, r)
		return
	}
	if err != nil {
		fail(w, err)
		return
	}
	json.NewEncoder(w).Encode(user)
}

// newMetrics returns the handler for Prometheus. It has a port of its own, which the
// Service doesn't lead to.
func newMetrics(ids *idgen.Pool) http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(snowkeyprom.NewCollector(ids))
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	return mux
}

// ready answers the readiness probe. We want requests as long as rows can get keys, and
// until the pod is about to end.
func (s *service) ready(w http.ResponseWriter, r *http.Request) {
	if s.ending.Load() {
		http.Error(w, "the pod is ending", http.StatusServiceUnavailable)
		return
	}
	s.readyz.ServeHTTP(w, r)
}

// drain shuts down the server without failing any requests. Note that Kubernetes
// continues to send requests for a moment after SIGTERM, until every node has learned
// that the pod is ending.
func (s *service) drain(server *http.Server) error {
	s.ending.Store(true)
	delay, err := time.ParseDuration(os.Getenv("DRAIN_DELAY"))
	if err != nil {
		delay = 5 * time.Second
	}
	time.Sleep(delay)
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Second)
	defer cancel()
	return server.Shutdown(ctx)
}

// fail logs an error. We don't send it, since it may contain the address of the database.
func fail(w http.ResponseWriter, err error) {
	slog.Error("production: a request failed", "error", err)
	status := http.StatusInternalServerError
	if _, ok := errors.AsType[*idgen.ClockError](err); ok || errors.Is(err, context.DeadlineExceeded) {
		status = http.StatusServiceUnavailable
	}
	http.Error(w, http.StatusText(status), status)
}
