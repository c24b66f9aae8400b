package loadgen

import "syscall"

type tlsConn struct {
	protocol string
	resumed  bool
}

func (c *tlsConn) receive([]byte) (int, bool, syscall.Errno) { return 0, false, 0 }
func (c *tlsConn) send([]byte) (int, syscall.Errno)          { return 0, 0 }
func (c *tlsConn) pending() bool                             { return false }
func (c *tlsConn) flush() syscall.Errno                      { return 0 }
func (c *tlsConn) close()                                    {}
func (c *tlsConn) wireIn() int64                             { return 0 }
func (c *tlsConn) wireOut() int64                            { return 0 }

type handshaker struct{}

func newHandshaker(*worker) (*handshaker, error) { return nil, ErrNotSupported }

func (h *handshaker) start(int32, int)      {}
func (h *handshaker) cancel(int32)          {}
func (h *handshaker) stop()                 {}
func (h *handshaker) cpuNanoseconds() int64 { return 0 }

func (w *worker) handshakesDone() {}
