//go:build !js

// Decodepage writes a page that decodes ids without a server, as one HTML file:
//
//	go run ./service/internal/decodepage snowkey-decode.html
//
// It is the page of the id service without the state of a process. The same Go code decodes:
// this package, compiled to WebAssembly, is inside the file.
package main

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"log"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/service/internal/idpage"
)

//go:embed page.html
var blocks string // of idpage.Template

func main() {
	log.SetFlags(0)
	if len(os.Args) != 2 {
		log.Fatal("usage: decodepage FILE")
	}
	if err := write(os.Args[1]); err != nil {
		log.Fatal("decodepage: ", err)
	}
}

func write(path string) error {
	code, err := compile()
	if err != nil {
		return err
	}
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return fmt.Errorf("go env GOROOT: %w", err)
	}
	wasmExec, err := os.ReadFile(filepath.Join(string(bytes.TrimSpace(root)), "lib", "wasm", "wasm_exec.js"))
	if err != nil {
		return err
	}
	page := template.Must(template.New("page").Parse(idpage.Template))
	template.Must(page.Parse(blocks))
	var text bytes.Buffer
	if err := page.Execute(&text, map[string]any{
		"Path": "", "ID": "", "Decoded": "",
		"Style":    template.CSS(idpage.Style),
		"Presets":  idgen.Presets(),
		"WasmExec": template.JS(wasmExec),
		"Program":  template.JS(`"` + base64.StdEncoding.EncodeToString(code) + `"`),
	}); err != nil {
		return err
	}
	return os.WriteFile(path, text.Bytes(), 0o644)
}

// compile returns this package as WebAssembly, compressed.
func compile() ([]byte, error) {
	dir, err := os.MkdirTemp("", "decodepage")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "decode.wasm")
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", file, "github.com/snowkey-go/snowkey/service/internal/decodepage")
	cmd.Env = append(cmd.Environ(), "GOOS=js", "GOARCH=wasm")
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%v: %w\n%s", cmd, err, out)
	}
	code, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var compressed bytes.Buffer
	w, _ := gzip.NewWriterLevel(&compressed, gzip.BestCompression) // no error: the level is valid, and so is each write to a buffer
	_, _ = w.Write(code)
	_ = w.Close()
	return compressed.Bytes(), nil
}
