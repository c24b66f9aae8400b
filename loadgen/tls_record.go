package loadgen

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
)

// Records are protected here once the handshake is over, because the Read of
// crypto/tls allocates for each record. Only AES-GCM can be had from the
// standard library; connections with another cipher stay with crypto/tls.
//
// Kernel TLS is not used. It moves the same AES-GCM into send and recv; what
// it can save is a copy of the text, which is small here (all that protection
// costs for 120 bytes out and 4,300 in is below 2 microseconds,
// BenchmarkTLSProtection, where the two system calls and the wake-up around
// them cost about ten times that). Many kernels are built without it
// (net.ipv4.tcp_available_ulp says so), that of the virtual machine where this
// was developed too, so its gain could not be measured.

type recordType = byte

const (
	recordAlert       recordType = 21
	recordHandshake   recordType = 22
	recordApplication recordType = 23

	recordHeader = 5
	maxPlaintext = 1 << 14
	maxRecord    = recordHeader + maxPlaintext + 256 // TLS 1.3; in 1.2 GCM adds 24
	recordExtra  = recordHeader + 8 + 16             // what protection adds at most
)

// recordSuite is what a cipher suite means for records.
type recordSuite struct {
	keySize int
	hash    func() hash.Hash // of the key schedule
}

// recordSuites are those that use AES-GCM.
var recordSuites = map[uint16]recordSuite{
	tls.TLS_AES_128_GCM_SHA256:                  {16, sha256.New},
	tls.TLS_AES_256_GCM_SHA384:                  {32, sha512.New384},
	tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256:   {16, sha256.New},
	tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256: {16, sha256.New},
	tls.TLS_RSA_WITH_AES_128_GCM_SHA256:         {16, sha256.New},
	tls.TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384:   {32, sha512.New384},
	tls.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384: {32, sha512.New384},
	tls.TLS_RSA_WITH_AES_256_GCM_SHA384:         {32, sha512.New384},
}

// recordKeys protects the records of one direction: RFC 8446, section 5.2,
// or RFC 5288 and RFC 5246, section 6.2.3.3. The sequence number cannot wrap
// in the life of a connection.
type recordKeys struct {
	aead     cipher.AEAD
	iv       [12]byte // TLS 1.2: the first 4 bytes
	seq      uint64
	tls13    bool
	suite    recordSuite
	secret   []byte // TLS 1.3: for key updates
	nonce    [12]byte
	extra    [13]byte // authenticated but not sent
	extraLen int
}

// trafficKeys are the keys of TLS 1.3 from a traffic secret (section 7.3).
func trafficKeys(s recordSuite, secret []byte) (recordKeys, error) {
	k := recordKeys{tls13: true, suite: s, secret: secret}
	key, err := expandLabel(s, secret, "key", s.keySize)
	if err != nil {
		return k, err
	}
	iv, err := expandLabel(s, secret, "iv", len(k.iv))
	if err != nil {
		return k, err
	}
	copy(k.iv[:], iv)
	k.aead, err = gcm(key)
	return k, err
}

// update replaces the keys by their successors (section 7.2).
func (k *recordKeys) update() error {
	secret, err := expandLabel(k.suite, k.secret, "traffic upd", len(k.secret))
	if err == nil {
		*k, err = trafficKeys(k.suite, secret)
	}
	return err
}

// expandLabel is HKDF-Expand-Label with an empty context (section 7.1).
func expandLabel(s recordSuite, secret []byte, label string, size int) ([]byte, error) {
	info := binary.BigEndian.AppendUint16(nil, uint16(size))
	info = append(info, byte(len("tls13 ")+len(label)))
	info = append(info, "tls13 "+label...)
	info = append(info, 0)
	return hkdf.Expand(s.hash, secret, string(info), size)
}

// masterKeys are the keys of TLS 1.2 (RFC 5246, section 6.3). The Finished
// message was record 0 of each direction.
func masterKeys(s recordSuite, master, clientRandom, serverRandom []byte) (client, server recordKeys, err error) {
	const saltSize = 4
	block := pseudoRandom(s.hash, master, "key expansion", serverRandom, clientRandom, 2*(s.keySize+saltSize))
	for i, k := range []*recordKeys{&client, &server} {
		k.suite, k.seq = s, 1
		if k.aead, err = gcm(block[i*s.keySize:][:s.keySize]); err != nil {
			return client, server, err
		}
		copy(k.iv[:], block[2*s.keySize+i*saltSize:][:saltSize])
	}
	return client, server, nil
}

// pseudoRandom is the PRF of TLS 1.2 (RFC 5246, section 5).
func pseudoRandom(h func() hash.Hash, secret []byte, label string, seed1, seed2 []byte, size int) []byte {
	mac := hmac.New(h, secret)
	sum := func(parts ...[]byte) []byte {
		mac.Reset()
		for _, p := range parts {
			mac.Write(p)
		}
		return mac.Sum(nil)
	}
	seed := append(append([]byte(label), seed1...), seed2...)
	var out []byte
	for a := sum(seed); len(out) < size; a = sum(a) {
		out = append(out, sum(a, seed)...)
	}
	return out[:size]
}

func gcm(key []byte) (cipher.AEAD, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}

// seal appends a record with at most maxPlaintext bytes to dst, whose
// capacity has room for recordExtra more.
func (k *recordKeys) seal(dst []byte, t recordType, plain []byte) []byte {
	start := len(dst)
	if k.tls13 {
		dst = append(dst, recordApplication, 3, 3, 0, 0)
		dst = append(append(dst, plain...), t)
		binary.BigEndian.PutUint16(dst[start+3:], uint16(len(plain)+1+k.aead.Overhead()))
		k.prepare(dst[start:], t, 0)
		body := dst[start+recordHeader:]
		return k.sealed(dst[:start+recordHeader], body)
	}
	dst = append(dst, t, 3, 3, 0, 0)
	binary.BigEndian.PutUint16(dst[start+3:], uint16(8+len(plain)+k.aead.Overhead()))
	dst = binary.BigEndian.AppendUint64(dst, k.seq)
	head := len(dst)
	dst = append(dst, plain...)
	k.prepare(dst[start:], t, len(plain))
	return k.sealed(dst[:head], dst[head:])
}

func (k *recordKeys) sealed(dst, body []byte) []byte {
	k.seq++
	return k.aead.Seal(dst, k.nonce[:], body, k.extra[:k.extraLen])
}

// prepare fills in the nonce and what is authenticated beside the text.
// record has its header, and in TLS 1.2 the explicit part of the nonce.
func (k *recordKeys) prepare(record []byte, t recordType, plainLen int) {
	k.nonce = k.iv
	if k.tls13 {
		sequence := binary.BigEndian.Uint64(k.nonce[4:]) ^ k.seq
		binary.BigEndian.PutUint64(k.nonce[4:], sequence)
		k.extraLen = copy(k.extra[:], record[:recordHeader])
		return
	}
	copy(k.nonce[4:], record[recordHeader:recordHeader+8])
	binary.BigEndian.PutUint64(k.extra[:], k.seq)
	k.extra[8], k.extra[9], k.extra[10] = t, 3, 3
	binary.BigEndian.PutUint16(k.extra[11:], uint16(plainLen))
	k.extraLen = 13
}

var errRecord = errors.New("malformed TLS record")

// open takes a whole record apart, in place.
func (k *recordKeys) open(record []byte) (t recordType, plain []byte, err error) {
	body := record[recordHeader:]
	t = record[0]
	if record[1] != 3 || record[2] != 3 {
		return 0, nil, fmt.Errorf("%w: version %d.%d", errRecord, record[1], record[2])
	}
	if !k.tls13 {
		if len(body) < 8+k.aead.Overhead() {
			return 0, nil, fmt.Errorf("%w: %d bytes", errRecord, len(body))
		}
		k.prepare(record, t, len(body)-8-k.aead.Overhead())
		body = body[8:]
	} else {
		if t != recordApplication {
			return 0, nil, fmt.Errorf("%w: type %d in the clear", errRecord, t)
		}
		k.prepare(record, t, 0)
	}
	plain, err = k.aead.Open(body[:0], k.nonce[:], body, k.extra[:k.extraLen])
	if err != nil {
		return 0, nil, fmt.Errorf("%w: %w", errRecord, err)
	}
	k.seq++
	if k.tls13 { // the type is the last byte that is not padding
		end := len(plain) - 1
		for end >= 0 && plain[end] == 0 {
			end--
		}
		if end < 0 {
			return 0, nil, fmt.Errorf("%w: no type", errRecord)
		}
		t, plain = plain[end], plain[:end]
	}
	if len(plain) > maxPlaintext {
		return 0, nil, fmt.Errorf("%w: %d bytes of text", errRecord, len(plain))
	}
	return t, plain, nil
}
