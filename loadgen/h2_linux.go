package loadgen

import (
	"errors"
	"syscall"
)

type h2Conn struct{}

func newH2Conn(*worker, int32) *h2Conn { return &h2Conn{} }

func (h *h2Conn) start(*worker, int32)                {}
func (h *h2Conn) request(*worker, int32, int32)       {}
func (h *h2Conn) feed(*worker, int32, []byte) error   { return errors.ErrUnsupported }
func (h *h2Conn) output() []byte                      { return nil }
func (h *h2Conn) wrote(int)                           {}
func (h *h2Conn) cancel(*worker, int32, int32)        {}
func (h *h2Conn) ended(*worker, int32, syscall.Errno) {}
func (h *h2Conn) farewell()                           {}
