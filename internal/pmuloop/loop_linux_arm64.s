#include "textflag.h"

// Written out so that the count is what the eye sees: a round is 98 NOP, one
// subtraction and one branch. NOP because an emulator does nothing for it.
#define NOP7 NOOP; NOOP; NOOP; NOOP; NOOP; NOOP; NOOP
#define NOP49 NOP7; NOP7; NOP7; NOP7; NOP7; NOP7; NOP7

// func Spin(n uint64)
TEXT ·Spin(SB), NOSPLIT|NOFRAME, $0-8
	MOVD n+0(FP), R0

spin:
	NOP49
	NOP49
	SUBS $1, R0, R0
	BNE  spin
	RET

// func Syscalls(n uint64)
TEXT ·Syscalls(SB), NOSPLIT|NOFRAME, $0-8
	MOVD n+0(FP), R19

call:
	MOVD $173, R8 // getppid
	SVC
	SUBS $1, R19, R19
	BNE  call
	RET

// func thread(n, wait, generations uint64) int64
//
// A new thread shares its maker's stack pointer (stack 0) and must not use it:
// it lives in registers.
TEXT ·thread(SB), NOSPLIT|NOFRAME, $0-32
	MOVD n+0(FP), R19
	MOVD wait+8(FP), R20
	MOVD generations+16(FP), R21
	MOVD $0x50f00, R0            // CLONE_VM FS FILES SIGHAND THREAD SYSVSEM
	MOVD ZR, R1                  // stack: the caller's
	MOVD ZR, R2                  // parent's tid: not stored
	MOVD ZR, R3                  // thread-local storage: none
	MOVD ZR, R4                  // tid to clear at the end: none
	MOVD $220, R8                // clone
	SVC
	CBZ  R0, child
	MOVD R0, ret+24(FP)
	RET

child:
	MOVD R19, R22
	CBZ  R20, rounds

wait:
	MOVD  $gate<>(SB), R0
	LDARW (R0), R1
	CBNZ  R1, rounds
	MOVD  $0x80, R1       // FUTEX_WAIT, private
	MOVD  ZR, R2          // while it is 0
	MOVD  ZR, R3          // without end
	MOVD  $98, R8         // futex
	SVC
	B     wait

rounds:
	NOP49
	NOP49
	SUBS $1, R22, R22
	BNE  rounds
	SUBS $1, R21, R21
	BEQ  end
	MOVD $0x50f00, R0
	MOVD ZR, R1
	MOVD ZR, R2
	MOVD ZR, R3
	MOVD ZR, R4
	MOVD $220, R8
	SVC
	CBZ  R0, child

end:
	MOVD ZR, R0
	MOVD $93, R8 // exit, of this thread
	SVC
	UNDEF

// func Open()
TEXT ·Open(SB), NOSPLIT|NOFRAME, $0-0
	MOVD $gate<>(SB), R0
	MOVD $1, R1
	STLRW R1, (R0)
	MOVD $0x81, R1       // FUTEX_WAKE, private
	MOVD $0x7fffffff, R2 // all
	MOVD $98, R8
	SVC
	RET

// func Close()
TEXT ·Close(SB), NOSPLIT|NOFRAME, $0-0
	MOVD  $gate<>(SB), R0
	STLRW ZR, (R0)
	RET

GLOBL gate<>(SB), NOPTR, $4
