//go:build tools

package gozero

import _ "github.com/zeromicro/go-zero/tools/goctl"
