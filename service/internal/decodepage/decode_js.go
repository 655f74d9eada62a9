// Decodepage in WebAssembly is the program of the page: it gives JavaScript a function.
package main

import (
	"syscall/js"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/service/internal/idpage"
)

func main() {
	js.Global().Set("decode", js.FuncOf(func(_ js.Value, args []js.Value) any {
		layout, err := idgen.Preset(args[0].String())
		if err != nil {
			panic(err) // the page offers presets only
		}
		body, _ := idpage.Decode(layout, args[1].String())
		return body
	}))
	select {}
}
