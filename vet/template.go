package vet

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"os"
	"reflect"
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

// templateKeys has the fields that hold a key, as model.ID with the model in lower case, and whether
// they are text. Without a model, .ID stands for the fields of all models. A template doesn't tell
// the types of its data, so names have to.
type templateKeys map[string]bool

func (keys templateKeys) add(k *keySet, pkgs []*types.Package) {
	for t, m := range k.modelsOf(pkgs) {
		for f := range m.fields {
			for _, name := range []string{strings.ToLower(t.Name()) + "." + f.Name(), "." + f.Name()} {
				other, twice := keys[name]
				keys[name] = is(f.Type(), types.IsString) && (other || !twice)
			}
		}
	}
}

// isText reports whether an argument such as .User.ID is a key that is text. If the name before
// it isn't a model's, all keys of this name have to be text.
func (keys templateKeys) isText(n parse.Node) bool {
	names := strings.Split(n.String(), ".")
	switch n.(type) {
	case *parse.FieldNode, *parse.VariableNode: // .User.ID or $user.ID
		if last := len(names) - 1; last > 0 {
			text, ok := keys[strings.ToLower(strings.TrimPrefix(names[last-1], "$"))+"."+names[last]]
			return text || !ok && keys["."+names[last]]
		}
	}
	return false
}

// file checks the text of a file.
func (keys templateKeys) file(name string) (findings []Finding, err error) {
	text, err := os.ReadFile(name)
	f := token.NewFileSet().AddFile(name, -1, len(text))
	f.SetLinesForContent(text)
	r := rules[slices.IndexFunc(rules, func(r rule) bool { return r.name == "template" })]
	keys.check(string(text), func(offset int, message string) {
		findings = append(findings, Finding{r.name, Breaks, f.Position(f.Pos(offset)), message + ". " + r.remedy, Docs + r.page})
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
		eachPipe(reflect.ValueOf(tree.Root), func(pipe *parse.PipeNode) {
			var piped []parse.Node // {{.ID | printf "%d"}}
			for _, command := range pipe.Cmds {
				args := slices.Concat(command.Args, piped)
				if piped = nil; len(args) == 1 {
					piped = args
				}
				function, _ := args[0].(*parse.IdentifierNode)
				for i := 1; function != nil && i < len(args); i++ {
					if fault := faultOf(function.Ident, args[1:], i-1); fault != "" && keys.isText(args[i]) {
						report(int(args[i].Position()), fmt.Sprintf("%s is a key, which is text, and is %s", args[i], fault))
					}
				}
			}
		})
	}
}

// eachPipe calls do for each pipe in a node of a template.
func eachPipe(v reflect.Value, do func(*parse.PipeNode)) {
	switch v.Kind() {
	case reflect.Pointer:
		if pipe, ok := v.Interface().(*parse.PipeNode); ok && pipe != nil {
			do(pipe)
		}
		eachPipe(v.Elem(), do)
	case reflect.Interface:
		eachPipe(v.Elem(), do)
	case reflect.Slice:
		for i := range v.Len() {
			eachPipe(v.Index(i), do)
		}
	case reflect.Struct:
		for field, value := range v.Fields() {
			if field.IsExported() {
				eachPipe(value, do)
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
