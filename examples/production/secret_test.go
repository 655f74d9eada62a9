package main

import (
	"errors"
	"net/http/httptest"
	"strings"
	"testing"
)

// An error of a driver has the address and the user of the database, which aren't for
// the clients of the service.
func TestErrorsAreNotSent(t *testing.T) {
	w := httptest.NewRecorder()
	fail(w, errors.New("failed to connect to `user=shop database=orders`: 10.0.0.5:5432"))
	if w.Code != 500 || strings.Contains(w.Body.String(), "shop") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}
