package main

import (
	"encoding/csv"
	"fmt"
	"os"
	"strings"

	"github.com/snowkey-go/snowkey/schema/pk"
)

// This file can be opened in a spreadsheet without its ids being rounded, and can be
// read back.
func Example_csv() {
	out := csv.NewWriter(os.Stdout)
	_ = out.Write([]string{"id", "name"})
	_ = out.Write([]string{`="` + pk.ID(high).String() + `"`, "Ada"}) // a formula whose value is text
	out.Flush()

	// Given plain digits, a spreadsheet would round them and store this.
	for _, field := range []string{`="1234567890123456789"`, "1234567890123456789", "1.23457E+18"} {
		text, isFormula := strings.CutPrefix(field, `="`)
		if isFormula {
			text = strings.TrimSuffix(text, `"`)
		}
		fmt.Println(pk.Parse(text))
	}
	// Output:
	// id,name
	// "=""1234567890123456789""",Ada
	// 1234567890123456789 <nil>
	// 1234567890123456789 <nil>
	// 0 pk: pk.ID cannot hold "1.23457E+18": want plain decimal such as "1234567890123456789": digits only, no leading zero
}
