// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "probe/scratch.h"

void scratch_nop(void);
void scratch_move(void);

#if defined(__x86_64__)
__asm__(".text\n"
	".globl scratch_nop\n.type scratch_nop,@function\nscratch_nop: nop\n ret\n"
	".globl scratch_move\n.type scratch_move,@function\nscratch_move: mov %rdi, %rax\n ret\n");
#elif defined(__aarch64__)
__asm__(".text\n"
	".globl scratch_nop\n.type scratch_nop,@function\nscratch_nop: nop\n ret\n"
	".globl scratch_move\n.type scratch_move,@function\nscratch_move: mov x1, x0\n ret\n");
#endif

static volatile uint64_t word;

void scratch_run(const struct scratch_job *job)
{
	for (uint32_t i = 0; i < job->turns; i++) {
		if (job->work == SCRATCH_EMULATED)
			scratch_nop();
		else if (job->work == SCRATCH_STEPPED)
			scratch_move();
		else
			word = i;
	}
}

uint64_t scratch_place(enum scratch_work work)
{
	if (work == SCRATCH_STORE)
		return (uintptr_t)&word;
	return (uintptr_t)(work == SCRATCH_EMULATED ? scratch_nop : scratch_move);
}
