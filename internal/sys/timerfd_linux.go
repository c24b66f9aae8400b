package sys

import (
	"golang.org/x/sys/unix"
)

// TimerFD returns a non-blocking, close-on-exec timer on CLOCK_MONOTONIC.
func TimerFD() (int, error) {
	return unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_CLOEXEC|unix.TFD_NONBLOCK)
}

// TimerFDSet arms fd once, for atNanoseconds on CLOCK_MONOTONIC; a time in
// the past fires at once. Zero disarms.
func TimerFDSet(fd int, atNanoseconds int64) error {
	spec := unix.ItimerSpec{Value: unix.NsecToTimespec(atNanoseconds)}
	return unix.TimerfdSettime(fd, unix.TFD_TIMER_ABSTIME, &spec, nil)
}

// EventFD returns a non-blocking, close-on-exec event counter.
func EventFD() (int, error) {
	return unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
}

// SetTimerSlack sets how late the kernel may fire the timers of the calling
// thread in order to batch wake-ups (50 microseconds unless set).
func SetTimerSlack(nanoseconds int) error {
	return unix.Prctl(unix.PR_SET_TIMERSLACK, uintptr(nanoseconds), 0, 0, 0)
}
