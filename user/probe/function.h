/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A function of an ELF file, symbols or not: its instructions, whom it calls and who calls it, and
 * where its entry and the return from a call of it can be probed for the price of one trap.
 */
#ifndef GVL_PROBE_FUNCTION_H
#define GVL_PROBE_FUNCTION_H

#include "probe/insn.h"
#include "target/object.h"

struct function {
	const struct object *o;
	struct span span;
	struct insn *insns;
	size_t nr;
};

/* Decodes the function around @vaddr. 0 and to be released, or -errno: none can be told. */
int function_load(struct function *f, const struct object *o, uint64_t vaddr);
void function_release(struct function *f);	/* all zero is fine */

/* True when a function starts at @vaddr. */
bool function_starts(const struct object *o, uint64_t vaddr);

/* The function that instruction @i of @f calls, or jumps to out of @f; 0 for none. */
uint64_t function_callee(const struct function *f, const struct insn *i);

/*
 * Fills @out with the addresses of the instructions that call or jump to @start, a function of @o.
 * How many there are, were it more than @max.
 */
int function_callers(uint64_t *out, int max, const struct object *o, uint64_t start);

/* What is known of an argument, from a function's start to one of its instructions. */
struct held {
	uint32_t regs;		/* bit per general register that has the argument's value */
	int32_t stack;		/* bytes pushed since; the return address is behind them */
	uint8_t size;		/* of the argument */
};

/* Argument @i, of @size bytes, at the start of a function. */
struct held held_begin(unsigned int i, uint8_t size);

/* Moves on by instruction @i. False: nothing is known of what follows. */
bool held_step(struct held *h, const struct insn *i);

struct place {
	uint64_t vaddr, offset;	/* in the ELF file's memory, and in the file */
	bool emulated;		/* the probe costs one trap; else it is single-stepped as well */
	unsigned int reg;	/* of an entry: the general register that has the argument */
	int32_t sp_shift;	/* of an entry: the return address is at stack pointer + this */
};

/*
 * The first emulated instruction that runs once whenever @f is entered, the argument of @begin
 * still in some register; its start, not emulated, if there is none. 0, or -ENOENT.
 */
int function_entry(struct place *out, const struct function *f, const struct held *begin);

/* Registers (a bit each) that have the argument of @begin when @f comes from its start to @vaddr. */
uint32_t function_held(const struct function *f, const struct held *begin, uint64_t vaddr);

/*
 * The first emulated instruction behind the call at @vaddr in @f that is reached only by it; the
 * one right behind it if there is none. 0, or -ENOENT: no call is there that returns to @f.
 */
int function_return(struct place *out, const struct function *f, uint64_t vaddr);

#endif
