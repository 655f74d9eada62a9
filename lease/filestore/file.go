package filestore

import (
	"bytes"
	"encoding/base32"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"strconv"

	"github.com/snowkey-go/snowkey/internal/protocol"
	"github.com/snowkey-go/snowkey/lease"
)

// What the names of files begin and end with.
const (
	prefix     = "snowkey-"
	suffix     = ".leases"
	unfinished = ".tmp"
)

// letters do not differ by case alone.
var letters = base32.NewEncoding("0123456789abcdefghijklmnopqrstuv").WithPadding(base32.NoPadding)

// fileName returns the name of a namespace's file. A namespace may be any text;
// the name is safe, and another for each, also where systems fold case.
func fileName(namespace string) string {
	return prefix + letters.EncodeToString([]byte(namespace)) + suffix
}

// A file's first line tells the version of what follows, and its checksum.
const header = "snowkey leases, version %d, checksum %08x"

func (s *space) encode() ([]byte, error) {
	body, err := json.MarshalIndent(s, "", "\t")
	if err != nil {
		return nil, err
	}
	body = append(body, '\n')
	return append(fmt.Appendf(nil, header+"\n", protocol.Version, crc32.ChecksumIEEE(body)), body...), nil
}

// decode returns the space of a namespace from the text of its file.
func decode(path string, text []byte, namespace string) (*space, error) {
	first, body, _ := bytes.Cut(text, []byte("\n"))
	var found int
	var sum uint32
	_, err := fmt.Sscanf(string(first), header, &found, &sum)
	switch {
	case err != nil:
		return nil, &FileError{path, "does not begin as a file of leases does", damaged}
	case found != protocol.Version:
		return nil, &lease.VersionError{Where: "the file " + path, Found: strconv.Itoa(found)}
	case sum != crc32.ChecksumIEEE(body):
		return nil, &FileError{path, "is not what its checksum says", damaged}
	}
	var s space
	if err := json.Unmarshal(body, &s); err != nil {
		return nil, &FileError{path, "cannot be read: " + err.Error(), damaged}
	}
	if s.Namespace != namespace {
		return nil, &FileError{path, fmt.Sprintf("has the leases of %q, not those of %q", s.Namespace, namespace), damaged}
	}
	return &s, nil
}

// damaged says what to do with a damaged file. Without the file a namespace
// begins behind all that it can have granted, but for a tick that is long.
const damaged = "put back a copy of it, or end the processes of the namespace and delete it (and, if the layout's tick is longer than a second, start them in the next tick)"
