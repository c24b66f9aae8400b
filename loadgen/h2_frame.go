package loadgen

import (
	"encoding/binary"
	"fmt"
)

// Frame types, flags, settings and error codes of RFC 9113.
const (
	h2FrameData         = 0x0
	h2FrameHeaders      = 0x1
	h2FramePriority     = 0x2
	h2FrameReset        = 0x3
	h2FrameSettings     = 0x4
	h2FramePush         = 0x5
	h2FramePing         = 0x6
	h2FrameGoAway       = 0x7
	h2FrameWindow       = 0x8
	h2FrameContinuation = 0x9

	h2FlagAck        = 0x1
	h2FlagEndStream  = 0x1
	h2FlagEndHeaders = 0x4
	h2FlagPadded     = 0x8
	h2FlagPriority   = 0x20

	h2SettingTableSize     = 0x1
	h2SettingPush          = 0x2
	h2SettingMaxStreams    = 0x3
	h2SettingInitialWindow = 0x4
	h2SettingMaxFrame      = 0x5

	h2NoError           = 0x0
	h2ProtocolError     = 0x1
	h2FlowControlError  = 0x3
	h2StreamClosed      = 0x5
	h2FrameSizeError    = 0x6
	h2RefusedStream     = 0x7
	h2Cancel            = 0x8
	h2CompressionError  = 0x9
	h2EnhanceYourCalm   = 0xb
	h2HTTP11Required    = 0xd
	h2FrameHeaderBytes  = 9
	h2MaxFrame          = 16384 // the size that every peer must take, and the only one that is announced
	h2MaxWindow         = 1<<31 - 1
	h2DefaultWindow     = 65535
	h2DefaultTable      = 4096
	h2LastStreamID      = 1<<31 - 1
	h2Preface           = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
	h2SettingBytes      = 6
	h2StreamsUnlimited  = 1<<31 - 1
	h2WindowUpdateBytes = h2FrameHeaderBytes + 4
)

// h2Error breaks a connection: what the peer sent is no HTTP/2, or nothing
// that can be read on from. The values are made once, as errors of the
// receiving loop allocate nothing.
type h2Error struct {
	code   uint32 // sent to the peer in a GOAWAY
	reason string
}

func (e *h2Error) Error() string { return fmt.Sprintf("HTTP/2: %s (error code %d)", e.reason, e.code) }

var (
	errH2NotSpoken    = &h2Error{h2ProtocolError, "the server answers in HTTP/1: it does not speak HTTP/2 on this port"}
	errH2NoSettings   = &h2Error{h2ProtocolError, "the first frame of the server is not SETTINGS"}
	errH2FrameSize    = &h2Error{h2FrameSizeError, "frame of a size that its type does not allow, or above 16384 bytes"}
	errH2StreamZero   = &h2Error{h2ProtocolError, "frame on a stream that its type does not allow"}
	errH2IdleStream   = &h2Error{h2ProtocolError, "frame on a stream that was never opened"}
	errH2ClosedStream = &h2Error{h2StreamClosed, "answer on a stream that has ended"}
	errH2Continuation = &h2Error{h2ProtocolError, "header block that is interrupted, or continued without a beginning"}
	errH2Padding      = &h2Error{h2ProtocolError, "padding longer than its frame"}
	errH2Push         = &h2Error{h2ProtocolError, "pushed stream, although push is switched off"}
	errH2Setting      = &h2Error{h2ProtocolError, "setting with a value that is not allowed"}
	errH2Window       = &h2Error{h2FlowControlError, "window above 2^31-1"}
	errH2WindowZero   = &h2Error{h2ProtocolError, "WINDOW_UPDATE of 0"}
	errH2Overrun      = &h2Error{h2FlowControlError, "more data than the window allows"}
	errH2Compression  = &h2Error{h2CompressionError, "header block that cannot be decoded"}
	errH2LateResize   = &h2Error{h2CompressionError, "header block that changes the size of the table behind its beginning"}
	errH2BlockTooLong = &h2Error{h2EnhanceYourCalm, "header block longer than 1 MiB"}
	errH2GoAwayRises  = &h2Error{h2ProtocolError, "GOAWAY whose last stream is above that of an earlier one"}
	errH2Flood        = &h2Error{h2EnhanceYourCalm, "more than 1 MiB of answers to control frames that the peer does not read"}
)

// h2Header is the header of a frame.
type h2Header struct {
	length int
	kind   uint8
	flags  uint8
	stream uint32
}

func parseH2Header(b []byte) h2Header {
	return h2Header{
		length: int(b[0])<<16 | int(b[1])<<8 | int(b[2]),
		kind:   b[3], flags: b[4],
		stream: binary.BigEndian.Uint32(b[5:]) & h2LastStreamID,
	}
}

func appendH2Header(b []byte, length int, kind, flags uint8, stream uint32) []byte {
	return append(b, byte(length>>16), byte(length>>8), byte(length), kind, flags,
		byte(stream>>24), byte(stream>>16), byte(stream>>8), byte(stream))
}

// putH2Header sets the length and flags of a frame that is written already.
func putH2Header(b []byte, length int, flags uint8) {
	b[0], b[1], b[2], b[4] = byte(length>>16), byte(length>>8), byte(length), flags
}

func appendH2Setting(b []byte, id uint16, value uint32) []byte {
	return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint16(b, id), value)
}

func appendH2Reset(b []byte, stream, code uint32) []byte {
	return binary.BigEndian.AppendUint32(appendH2Header(b, 4, h2FrameReset, 0, stream), code)
}

func appendH2Window(b []byte, stream, increment uint32) []byte {
	return binary.BigEndian.AppendUint32(appendH2Header(b, 4, h2FrameWindow, 0, stream), increment)
}

func appendH2GoAway(b []byte, code uint32) []byte {
	b = appendH2Header(b, 8, h2FrameGoAway, 0, 0)
	b = binary.BigEndian.AppendUint32(b, 0) // no stream of the server was processed: it pushes none
	return binary.BigEndian.AppendUint32(b, code)
}
