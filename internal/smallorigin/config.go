package smallorigin

import "fmt"

// Name is what the origin calls itself in its ready line and admin answers.
const Name = "smallorigin"

// MaxBodySize is the largest body, in bytes.
const MaxBodySize = 64 << 20

// Config is what an origin is told. The zero value serves empty bodies on a
// loopback port chosen by the kernel.
type Config struct {
	// Listen is the host:port to serve on. Default "127.0.0.1:0".
	Listen string `json:"listen,omitempty"`
	// AdminListen is the host:port of the admin. Default "127.0.0.1:0".
	AdminListen string `json:"admin_listen,omitempty"`
	// BodySize is the size of each answer's body, in bytes, 0 to MaxBodySize.
	BodySize int `json:"body_size"`
	// Workers is how many threads run Go code at the same time. Default 1.
	Workers int `json:"workers,omitempty"`
}

func (c Config) withDefaults() (Config, error) {
	if c.Listen == "" {
		c.Listen = "127.0.0.1:0"
	}
	if c.AdminListen == "" {
		c.AdminListen = "127.0.0.1:0"
	}
	if c.Workers == 0 {
		c.Workers = 1
	}
	if c.Workers < 0 {
		return c, fmt.Errorf("origin: Workers is %d; give 1 or more, or 0 for the default", c.Workers)
	}
	if c.BodySize < 0 || c.BodySize > MaxBodySize {
		return c, fmt.Errorf("origin: BodySize is %d bytes; give 0 to %d", c.BodySize, MaxBodySize)
	}
	return c, nil
}
