package pmuloop

import "syscall"

const (
	// PerSpin is the number of instructions of one round of Spin, Thread and
	// Waiter.
	PerSpin = 100
	// PerSyscall is the number of instructions in user mode of one round of
	// Syscalls.
	PerSyscall = 4
)

// Spin runs PerSpin instructions n times, and fewer than ten others. n must not
// be zero.
func Spin(n uint64)

// Syscalls calls getppid n times: PerSyscall instructions each in user mode,
// and fewer than ten others. n must not be zero.
func Syscalls(n uint64)

// Thread starts a thread that spins n rounds and ends. It executes PerSpin
// instructions n times in user mode, and fewer than ten others. n must not be
// zero. Nothing waits for the thread: /proc/self/task shows when it is gone.
func Thread(n uint64) error { return failed(thread(n, 0, 1)) }

// Waiter is Thread, but the thread sleeps until Open is called. It executes
// fewer than fifty other instructions.
func Waiter(n uint64) error { return failed(thread(n, 1, 1)) }

// Chain is Thread, but at its end the thread starts another one, and so on
// until there were so many generations. Each executes PerSpin instructions n
// times, and fewer than thirty others.
func Chain(n, generations uint64) error { return failed(thread(n, 0, generations)) }

// Open lets the waiters go, those of the past and those of the future.
func Open()

// Close makes later waiters wait again.
func Close()

// thread returns the new thread's id or a negative errno.
func thread(n, wait, generations uint64) int64

func failed(r int64) error {
	if r < 0 {
		return syscall.Errno(-r)
	}
	return nil
}
