/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Machine code, as far as placing probes needs it. Everything that depends on the processor is
 * behind this header: insn_x86_64.c, and one file more for each further architecture.
 */
#ifndef GVL_PROBE_INSN_H
#define GVL_PROBE_INSN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { INSN_STORES_ZERO = -1, INSN_STORES_OTHER = -2 };
enum { INSN_COPIES_NONE = -1 };
enum { INSN_COMPARES_NONE = -1, INSN_COMPARES_OTHER = -2 };
enum insn_cond {	/* of numbers without sign, or of less than these */
	INSN_COND_OTHER,
	INSN_COND_EQUAL, INSN_COND_UNEQUAL,
	INSN_COND_BELOW, INSN_COND_BELOW_EQUAL,
	INSN_COND_ABOVE, INSN_COND_ABOVE_EQUAL,
};
enum insn_sets { INSN_SETS_OTHER, INSN_SETS_VALUE, INSN_SETS_LOADED };
#define INSN_STACK_UNKNOWN INT32_MIN

struct insn {
	uint64_t vaddr;
	uint8_t size;
	bool emulated;		/* a uprobe here traps once and is not single-stepped */
	bool ends_block;	/* jump, call, return: what follows may be reached otherwise */
	bool is_call;		/* what follows runs when it returns */
	bool is_conditional;	/* a jump that may go on with what follows instead */
	bool is_return;
	enum insn_cond cond;	/* when a conditional jump is taken, by the comparison before it */
	uint64_t target;	/* of a direct jump, else 0 */
	uint64_t callee;	/* of a direct call, else 0 */
	uint64_t via;		/* of a call or jump through the word at this address, else 0 */
	uint32_t writes;	/* bit per general register that it changes */
	int32_t stack;		/* bytes it pushes, or INSN_STACK_UNKNOWN; 0 for a call */
	int8_t copies;		/* register it copies to the one it writes, or INSN_COPIES_NONE */
	uint8_t copy_size;	/* bytes of it; the rest becomes 0 */
	bool has_mem;		/* names memory at base + disp, were it only to take its address */
	bool mem_indexed;	/* with an index register or a segment, or without a base */
	uint8_t mem_base;	/* general register number */
	uint8_t store_size;	/* bytes that it stores there, 0 for none */
	int32_t mem_disp;
	int8_t store_reg;	/* register that it stores, INSN_STORES_ZERO, or INSN_STORES_OTHER */
	enum insn_sets sets;	/* what all 8 bytes of the register that it writes become */
	uint64_t value;		/* VALUE: this number or address, LOADED: the word there */
	int8_t compares;	/* register, all 8 bytes of it, that conditions behind it speak of */
	bool compares_mem;	/* with the word at the address @with, else with that number */
	uint64_t with;
};

/*
 * Decodes @len bytes at @vaddr in order into @out (room for @max). The number of instructions;
 * fewer than the bytes hold where something is not code.
 */
size_t insn_decode(const uint8_t *code, size_t len, uint64_t vaddr, struct insn *out, size_t max);

/*
 * Looks for bytes that end like a direct call or jump to an address in @first..@last, or like one
 * through a word there, whatever they are. Their end as an offset into @code, which is at @vaddr; 0
 * when there are no more. @from is 0, then the last result.
 */
size_t insn_find_branch(const uint8_t *code, size_t len, size_t from, uint64_t vaddr,
			uint64_t first, uint64_t last);

bool insn_is_stack_pointer(unsigned int reg);

/* The general register that passes argument @i, less than 4, of integer or pointer type. */
unsigned int insn_arg_reg(unsigned int i);

/* Bit per general register that a called function leaves as it was. */
uint32_t insn_kept_by_calls(void);

/* Which word of struct pt_regs keeps general register @reg. */
unsigned int insn_reg_slot(unsigned int reg);

/* ELF type of the relocation of a word that gets what the function at its addend returns. */
uint32_t insn_resolved_reloc(void);

/* True where a watchpoint reports the address after the writing instruction (x86), not its own. */
bool insn_watch_reports_next(void);

#endif
