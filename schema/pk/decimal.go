package pk

import (
	"encoding/binary"
	"strconv"
)

// Ids have up to 19 digits. The functions in this file write and read eight of them at
// once, as the bytes of a word whose lowest byte is the first digit. All sums and
// products stay within their byte, their 16 or their 32 bits.

const (
	blockLen  = 8
	blockSize = 1e8
	blocks    = blockSize * blockSize // what two blocks hold
)

// appendDecimal appends what strconv.FormatInt writes.
func appendDecimal(dst []byte, n int64) []byte {
	if n < blocks {
		return strconv.AppendInt(dst, n, 10)
	}
	head, rest := n/blocks, uint64(n%blocks) // head is at most 922
	switch {
	case head >= 100:
		dst = append(dst, byte('0'+head/100), byte('0'+head/10%10), byte('0'+head%10))
	case head >= 10:
		dst = append(dst, byte('0'+head/10), byte('0'+head%10))
	default:
		dst = append(dst, byte('0'+head))
	}
	dst = binary.LittleEndian.AppendUint64(dst, digits(rest/blockSize))
	return binary.LittleEndian.AppendUint64(dst, digits(rest%blockSize))
}

// quotedDecimal returns n in quotes. Most ids have 17 to 19 digits, whose places are
// constants, so no write checks the capacity.
func quotedDecimal(n int64) []byte {
	dst := make([]byte, room)
	dst[0] = '"'
	switch head, rest := n/blocks, uint64(n%blocks); {
	case n < blocks:
		return append(strconv.AppendInt(dst[:1], n, 10), '"')
	case head >= 100:
		dst[1], dst[2], dst[3] = byte('0'+head/100), byte('0'+head/10%10), byte('0'+head%10)
		putBlocks(dst[4:], rest)
		return dst[:21]
	case head >= 10:
		dst[1], dst[2] = byte('0'+head/10), byte('0'+head%10)
		putBlocks(dst[3:], rest)
		return dst[:20]
	default:
		dst[1] = byte('0' + head)
		putBlocks(dst[2:], rest)
		return dst[:19]
	}
}

// putBlocks writes the 16 digits of n and a quote.
func putBlocks(dst []byte, n uint64) {
	binary.LittleEndian.PutUint64(dst, digits(n/blockSize))
	binary.LittleEndian.PutUint64(dst[blockLen:], digits(n%blockSize))
	dst[2*blockLen] = '"'
}

// digits returns the eight digits of n. Instead of dividing, it multiplies with a
// fraction: v*10486>>20 is v/100 for up to four digits, and v*103>>10 is v/10 for two.
func digits(n uint64) uint64 {
	fours := n/10000 | n%10000<<32
	hundreds := fours * 10486 >> 20 & 0x0000007f_0000007f
	twos := hundreds | (fours-100*hundreds)<<16
	tens := twos * 103 >> 10 & 0x000f000f_000f000f
	return tens | (twos-10*tens)<<8 | 0x30303030_30303030
}

// block returns the first eight bytes of s.
func block[S string | []byte](s S) uint64 {
	_ = s[blockLen-1]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

// isDigits reports whether each byte of b is one of 0 to 9. The upper half of these
// bytes is 3, and remains 3 if 6 is added.
func isDigits(b uint64) bool {
	const upper = 0xf0f0f0f0_f0f0f0f0
	return b&upper|(b+0x06060606_06060606)&upper>>4 == 0x33333333_33333333
}

// number is the inverse of digits. It joins digits to pairs, pairs to fours, and fours
// to the number.
func number(b uint64) uint64 {
	b = b & 0x0f0f0f0f_0f0f0f0f * (1 + 10<<8) >> 8
	b = b & 0x00ff00ff_00ff00ff * (1 + 100<<16) >> 16
	return b & 0x0000ffff_0000ffff * (1 + 10000<<32) >> 32
}
