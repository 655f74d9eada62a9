package service_test

import (
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/service"
)

// A token that can't have 128 random bits is refused by its number, and never shown.
func TestWeakTokens(t *testing.T) {
	ids := newPool(t)
	for _, weak := range []string{
		"", "# tokens of the billing team", "correct horse battery staple", "tokens of the billing team", token[:31], "short-secret", strings.Repeat("ä", 32), token + "\n", token + " # billing", "0123456789abcdef-_/+g",
	} {
		_, err := service.NewHandler(ids, service.Config{Tokens: []string{token, weak}})
		if err == nil || !strings.Contains(err.Error(), "token 2 ") || weak != "" && strings.Contains(err.Error(), weak) {
			t.Errorf("%q: %v", weak, err)
		}
	}
	for _, strong := range []string{token, strings.ToUpper(token), "mGWPVqoO/G9TCUhNtYRhmQ==", "mGWPVqoO_G9TCUhNtYRhmQ", "mGWPVqoO-G9TCUhNtYRhmZbTPjcrEZSu9G7LVrsExWU"} {
		if _, err := service.NewHandler(ids, service.Config{Tokens: []string{strong}}); err != nil {
			t.Errorf("%q: %v", strong, err)
		}
	}
}
