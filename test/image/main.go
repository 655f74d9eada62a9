// Image builds an OCI image of a program without Docker:
//
//	go run ./test/image -o bin/image ./cmd/snowkey
//
// As with Dockerfile, it has the program and the certificate authorities of this machine,
// and nothing else. The folder bin/image becomes an OCI image layout with an image for each
// platform, the same bytes from the same commit, Go release and authorities.
package main

import (
	"archive/tar"
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

var (
	out         = flag.String("o", "bin/image", "the folder to write, which is removed first")
	platforms   = flag.String("platforms", "linux/amd64,linux/arm64", "the platforms to build for")
	authorities = flag.String("authorities", "/etc/ssl/certs/ca-certificates.crt", "the file of the certificate authorities, from the package ca-certificates")
)

func main() {
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "image: want one package, such as ./cmd/snowkey")
		os.Exit(2)
	}
	if err := run(flag.Arg(0)); err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}

func run(pkg string) error {
	certificates, err := os.ReadFile(*authorities)
	if err != nil {
		return err
	}
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for platform := range strings.SplitSeq(*platforms, ",") {
		system, architecture, _ := strings.Cut(platform, "/")
		program, err := compile(pkg, system, architecture)
		if err != nil {
			return err
		}
		image, err := build(path.Base(pkg), program, certificates, v1.Platform{OS: system, Architecture: architecture})
		if err != nil {
			return err
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: image, Descriptor: v1.Descriptor{
			Platform: &v1.Platform{OS: system, Architecture: architecture},
		}})
	}
	if err := os.RemoveAll(*out); err != nil {
		return err
	}
	_, err = layout.Write(*out, index)
	return err
}

// compile returns the program, with the versions of go.work, which are those of the release.
func compile(pkg, system, architecture string) ([]byte, error) {
	dir, err := os.MkdirTemp("", "snowkey-image")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	program := filepath.Join(dir, "program")
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", program, pkg)
	cmd.Env = append(cmd.Environ(), "CGO_ENABLED=0", "GOWORK=", "GOOS="+system, "GOARCH="+architecture)
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%v: %w\n%s", cmd, err, out)
	}
	return os.ReadFile(program)
}

// build returns the image of a program, which runs as a user without a name.
func build(name string, program, certificates []byte, platform v1.Platform) (v1.Image, error) {
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	image, err := mutate.ConfigFile(image, &v1.ConfigFile{
		OS: platform.OS, Architecture: platform.Architecture, RootFS: v1.RootFS{Type: "layers"},
		Config: v1.Config{
			Entrypoint: []string{"/" + name}, User: "65532:65532", ExposedPorts: map[string]struct{}{"8080/tcp": {}, "9090/tcp": {}},
			Labels: map[string]string{"org.opencontainers.image.source": "https://github.com/snowkey-go/snowkey", "org.opencontainers.image.licenses": "Apache-2.0"},
		},
	})
	if err != nil {
		return nil, err
	}
	var files bytes.Buffer
	w := tar.NewWriter(&files)
	for _, f := range []struct {
		name string
		mode int64
		data []byte
	}{{"etc/ssl/certs/ca-certificates.crt", 0o444, certificates}, {name, 0o555, program}} {
		if err := w.WriteHeader(&tar.Header{Name: f.name, Mode: f.mode, Size: int64(len(f.data))}); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.data); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(files.Bytes())), nil }, tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return nil, err
	}
	return mutate.AppendLayers(image, layer)
}
