package sqlstore

import (
	"os"
	"slices"
	"syscall"
)

// share gives the folder the group of the database's file, and the owner too if this
// process may do that, as SQLite does with its own files.
func share(folder string, file os.FileInfo) {
	if stat, ok := file.Sys().(*syscall.Stat_t); ok {
		if os.Chown(folder, int(stat.Uid), int(stat.Gid)) != nil {
			os.Chown(folder, -1, int(stat.Gid)) // if that fails, only this user can lease
		}
	}
}

// remote has the numbers of file systems that hosts share, from linux/magic.h.
var remote = []uint32{
	0x6969,                         // NFS
	0x517b, 0xff534d42, 0xfe534d42, // SMB
	0xc36400,               // Ceph
	0x0bd00bd0, 0x47504653, // Lustre, GPFS
	0x01161970, 0x7461636f, // GFS2, OCFS2
	0x5346414f, 0x6b414653, 0x73757245, // AFS, Coda
}

// isRemote reports whether the file is on a file system that hosts share.
func isRemote(path string) bool {
	var stat syscall.Statfs_t
	return syscall.Statfs(path, &stat) == nil && slices.Contains(remote, uint32(stat.Type))
}
