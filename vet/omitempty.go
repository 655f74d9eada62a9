package vet

import (
	"go/ast"
	"go/types"
	"strings"
)

var omitRule = rule{
	name:   "omitempty",
	finds:  "`omitempty` on a key of package pk: where an array or a text was sent before, 0 is left out",
	remedy: "Remove omitempty, or make sure that clients accept a missing member",
	page:   "web.md#json",
	run:    runOmit,
}

func runOmit(p *pass) {
	each(p.files(), func(field *ast.Field) {
		if field.Tag == nil || len(field.Names) == 0 {
			return
		}
		t := p.TypesInfo.TypeOf(field.Type)
		tag := parseTag(field.Tag).Get("json")
		if t == nil || !isPK(t) || !isInteger(t) || !strings.Contains(tag, ",omitempty") {
			return
		}
		if _, pointer := types.Unalias(t).(*types.Pointer); !pointer {
			p.report(Check, field, "%s is left out of the JSON if it's 0", field.Names[0].Name)
		}
	})
}
