package vet

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"os"
	"slices"
	"strings"
	"text/template/parse"
)

func checkTemplate(k *keySet, n ast.Node) {
	if t, ok := n.(*text); ok && t.written {
		keys := make(templateKeys)
		keys.add(k, k.visible())
		keys.check(t.value, func(_ int, message string) { k.report(Breaks, t, "%s", message) })
	}
}

// templateFiles are the ends of the names of files that may be templates.
var templateFiles = []string{".tmpl", ".gotmpl", ".tpl", ".gohtml", ".html", ".htm", ".txt"}

// templateKeys has the fields that hold a key, by their name and that of the model in lower
// case, and whether they are text. Without a model, a name stands for the fields of all models. A
// template doesn't tell the types of its data, so names have to.
type templateKeys map[fieldName]bool

type fieldName struct{ model, field string }

func (keys templateKeys) add(k *keySet, pkgs []*types.Package) {
	for t, m := range k.modelsOf(pkgs) {
		for f := range m.fields {
			for _, field := range []fieldName{{strings.ToLower(t.Name()), f.Name()}, {"", f.Name()}} {
				other, twice := keys[field]
				keys[field] = is(f.Type(), types.IsString) && (other || !twice)
			}
		}
	}
}

// isText reports whether an argument such as .User.ID is a key that is text. If the name before
// it isn't a model's, all keys of this name have to be text.
func (keys templateKeys) isText(n parse.Node) bool {
	var names []string
	switch n := n.(type) {
	case *parse.FieldNode: // .User.ID
		names = append([]string{""}, n.Ident...)
	case *parse.VariableNode: // $user.ID
		names = n.Ident
	}
	if len(names) < 2 {
		return false
	}
	name := fieldName{strings.ToLower(strings.TrimPrefix(names[len(names)-2], "$")), names[len(names)-1]}
	if text, ok := keys[name]; ok {
		return text
	}
	return keys[fieldName{"", name.field}]
}

// file checks the text of a file.
func (keys templateKeys) file(name string) (findings []Finding, err error) {
	text, err := os.ReadFile(name)
	r := rules[slices.IndexFunc(rules, func(r rule) bool { return r.name == "template" })]
	keys.check(string(text), func(offset int, message string) {
		before := string(text[:offset])
		at := token.Position{Filename: name, Offset: offset, Line: strings.Count(before, "\n") + 1, Column: offset - strings.LastIndex(before, "\n")}
		findings = append(findings, Finding{r.name, Breaks, at, message + ". " + r.remedy, Docs + r.page})
	})
	return findings, err
}

// check parses a text, and reports faults with their offset. What isn't a template of Go, such as
// one of Vue, mostly can't be parsed.
func (keys templateKeys) check(text string, report func(offset int, message string)) {
	if len(keys) == 0 || !strings.Contains(text, "{{") {
		return
	}
	trees := make(map[string]*parse.Tree)
	t := parse.New("")
	t.Mode = parse.SkipFuncCheck
	if _, err := t.Parse(text, "", "", trees); err != nil {
		return
	}
	for _, tree := range trees {
		calls(tree.Root, func(function string, args []parse.Node) {
			for i, arg := range args {
				if fault := faultOf(function, args, i); fault != "" && keys.isText(arg) {
					report(int(arg.Position()), fmt.Sprintf("%s is a key, which is text, and is %s", arg, fault))
				}
			}
		})
	}
}

// calls calls do for each call of a function in a template.
func calls(n parse.Node, do func(function string, args []parse.Node)) {
	switch n := n.(type) {
	case *parse.ListNode:
		if n != nil {
			for _, n := range n.Nodes {
				calls(n, do)
			}
		}
	case *parse.IfNode:
		calls(&n.BranchNode, do)
	case *parse.RangeNode:
		calls(&n.BranchNode, do)
	case *parse.WithNode:
		calls(&n.BranchNode, do)
	case *parse.BranchNode:
		calls(n.Pipe, do)
		calls(n.List, do)
		calls(n.ElseList, do)
	case *parse.ActionNode:
		calls(n.Pipe, do)
	case *parse.TemplateNode:
		calls(n.Pipe, do)
	case *parse.PipeNode:
		if n == nil {
			return
		}
		var piped []parse.Node // {{.ID | printf "%d"}}
		for _, command := range n.Cmds {
			args := slices.Concat(command.Args, piped)
			if function, ok := args[0].(*parse.IdentifierNode); ok {
				do(function.Ident, args[1:])
			}
			for _, arg := range command.Args {
				calls(arg, do)
			}
			if piped = nil; len(args) == 1 {
				piped = args
			}
		}
	}
}

// faultOf says what a function does with the argument i that text isn't made for.
func faultOf(function string, args []parse.Node, i int) string {
	switch function {
	case "printf":
		format, ok := args[0].(*parse.StringNode)
		if !ok || i == 0 {
			return ""
		}
		all := verbs.FindAllString(strings.ReplaceAll(format.Text, "%%", ""), i)
		if len(all) == i && strings.ContainsAny(all[i-1][len(all[i-1])-1:], "bcdoxXUeEfFgG") {
			return "printed with " + all[i-1]
		}
	case "eq", "ne", "lt", "le", "gt", "ge":
		for _, other := range args {
			if _, ok := other.(*parse.NumberNode); ok {
				return "compared with the number " + other.String()
			}
		}
	}
	return ""
}
