// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#if defined(__x86_64__)

#include "probe/insn.h"

#include <capstone/capstone.h>
#include <elf.h>
#include <string.h>

#include "util/scope.h"

/* Register numbers are rows of this table. Offsets: arch/x86/include/asm/ptrace.h, pt_regs. */
static const struct {
	uint16_t offset;
	uint16_t ids[5];	/* the register and its parts, as capstone names them */
} regs[] = {
	{ 0, { X86_REG_R15, X86_REG_R15D, X86_REG_R15W, X86_REG_R15B } },
	{ 8, { X86_REG_R14, X86_REG_R14D, X86_REG_R14W, X86_REG_R14B } },
	{ 16, { X86_REG_R13, X86_REG_R13D, X86_REG_R13W, X86_REG_R13B } },
	{ 24, { X86_REG_R12, X86_REG_R12D, X86_REG_R12W, X86_REG_R12B } },
	{ 32, { X86_REG_RBP, X86_REG_EBP, X86_REG_BP, X86_REG_BPL } },
	{ 40, { X86_REG_RBX, X86_REG_EBX, X86_REG_BX, X86_REG_BL, X86_REG_BH } },
	{ 48, { X86_REG_R11, X86_REG_R11D, X86_REG_R11W, X86_REG_R11B } },
	{ 56, { X86_REG_R10, X86_REG_R10D, X86_REG_R10W, X86_REG_R10B } },
	{ 64, { X86_REG_R9, X86_REG_R9D, X86_REG_R9W, X86_REG_R9B } },
	{ 72, { X86_REG_R8, X86_REG_R8D, X86_REG_R8W, X86_REG_R8B } },
	{ 80, { X86_REG_RAX, X86_REG_EAX, X86_REG_AX, X86_REG_AL, X86_REG_AH } },
	{ 88, { X86_REG_RCX, X86_REG_ECX, X86_REG_CX, X86_REG_CL, X86_REG_CH } },
	{ 96, { X86_REG_RDX, X86_REG_EDX, X86_REG_DX, X86_REG_DL, X86_REG_DH } },
	{ 104, { X86_REG_RSI, X86_REG_ESI, X86_REG_SI, X86_REG_SIL } },
	{ 112, { X86_REG_RDI, X86_REG_EDI, X86_REG_DI, X86_REG_DIL } },
	{ 152, { X86_REG_RSP, X86_REG_ESP, X86_REG_SP, X86_REG_SPL } },
};

static int reg_number(unsigned int id)
{
	for (size_t i = 0; i < ARRAY_LEN(regs); i++)
		for (size_t k = 0; k < ARRAY_LEN(regs[i].ids); k++)
			if (regs[i].ids[k] && regs[i].ids[k] == id)
				return i;
	return -1;
}

/*
 * What arch/x86/kernel/uprobes.c emulates (branch_setup_ops, push_setup_ops; 5.10 to 6.18): jmp,
 * jcc and call with a relative target, one-byte nop, push of a register. A 5-byte nop is left out:
 * from 6.18 it becomes a call that writes below the stack pointer.
 */
static bool is_emulated(const uint8_t *b, size_t n)
{
	switch (b[0]) {
	case 0xe8: case 0xe9: case 0xeb: case 0x90:
	case 0x70 ... 0x7f:
	case 0x50 ... 0x57:
		return true;
	case 0x0f:
		return n == 6 && b[1] >= 0x80 && b[1] <= 0x8f;
	case 0x41:
		return n == 2 && b[1] >= 0x50 && b[1] <= 0x57;
	default:
		return false;
	}
}

static int8_t stored(const cs_insn *i)
{
	const cs_x86_op *op = &i->detail->x86.operands[1];
	int reg;

	if (i->id != X86_INS_MOV || i->detail->x86.op_count != 2)
		return INSN_STORES_OTHER;
	if (op->type == X86_OP_IMM && op->imm == 0)
		return INSN_STORES_ZERO;
	reg = op->type == X86_OP_REG ? reg_number(op->reg) : -1;
	return reg >= 0 ? reg : INSN_STORES_OTHER;
}

static void read_mem(const cs_insn *insn, struct insn *out)
{
	const cs_x86 *x = &insn->detail->x86;

	for (uint8_t i = 0; i < x->op_count; i++) {
		const cs_x86_op *op = &x->operands[i];
		int base;

		if (op->type != X86_OP_MEM)
			continue;
		base = reg_number(op->mem.base);
		out->has_mem = true;
		out->mem_indexed = base < 0 || op->mem.index != X86_REG_INVALID ||
				   op->mem.segment != X86_REG_INVALID;
		out->mem_base = base < 0 ? 0 : base;
		out->mem_disp = (int32_t)op->mem.disp;
		if (i == 0 && (op->access & CS_AC_WRITE)) {
			out->store_size = op->size;
			out->store_reg = stored(insn);
		}
		return;
	}
}

static void read_copy(const cs_insn *insn, struct insn *out)
{
	const cs_x86_op *op = insn->detail->x86.operands;
	int reg;

	out->copies = INSN_COPIES_NONE;
	if (insn->id != X86_INS_MOV || insn->detail->x86.op_count != 2 ||
	    op[0].type != X86_OP_REG || op[1].type != X86_OP_REG || op[1].size < 4)
		return;
	reg = reg_number(op[1].reg);
	if (reg < 0 || reg_number(op[0].reg) < 0)
		return;
	out->copies = reg;
	out->copy_size = op[1].size;
}

/* The address that @op names, whatever registers hold; 0 if it depends on them. */
static uint64_t fixed_address(const cs_insn *insn, const cs_x86_op *op)
{
	if (op->type != X86_OP_MEM || op->mem.index != X86_REG_INVALID ||
	    op->mem.segment != X86_REG_INVALID)
		return 0;
	if (op->mem.base == X86_REG_RIP)
		return insn->address + insn->size + op->mem.disp;
	return op->mem.base == X86_REG_INVALID ? op->mem.disp : 0;
}

static void read_value(const cs_insn *insn, struct insn *out)
{
	const cs_x86_op *op = insn->detail->x86.operands;
	bool is_lea = insn->id == X86_INS_LEA;

	if (insn->detail->x86.op_count != 2 || op[0].type != X86_OP_REG || op[0].size < 4 ||
	    reg_number(op[0].reg) < 0)
		return;
	if (!is_lea && insn->id != X86_INS_MOV && insn->id != X86_INS_MOVABS)
		return;
	if (op[1].type == X86_OP_IMM) {
		out->sets = INSN_SETS_VALUE;
		out->value = op[0].size == 4 ? (uint32_t)op[1].imm : (uint64_t)op[1].imm;
		return;
	}
	out->value = fixed_address(insn, &op[1]);
	if (out->value && op[0].size == 8)
		out->sets = is_lea ? INSN_SETS_VALUE : INSN_SETS_LOADED;
}

static enum insn_cond condition(const cs_insn *insn)
{
	switch (insn->id) {
	case X86_INS_JE: return INSN_COND_EQUAL;
	case X86_INS_JNE: return INSN_COND_UNEQUAL;
	case X86_INS_JB: return INSN_COND_BELOW;
	case X86_INS_JBE: return INSN_COND_BELOW_EQUAL;
	case X86_INS_JA: return INSN_COND_ABOVE;
	case X86_INS_JAE: return INSN_COND_ABOVE_EQUAL;
	default: return INSN_COND_OTHER;
	}
}

/* CMP with a number or a word at a fixed address; TEST of a register with itself compares with 0. */
static void read_comparison(const cs_insn *insn, struct insn *out)
{
	const cs_x86_op *op = insn->detail->x86.operands;
	bool is_test = insn->id == X86_INS_TEST;

	if ((!is_test && insn->id != X86_INS_CMP) || op[0].type != X86_OP_REG || op[0].size != 8)
		return;
	if (is_test ? op[1].type != X86_OP_REG || op[1].reg != op[0].reg : op[1].type == X86_OP_REG)
		return;
	out->with = is_test ? 0 : op[1].type == X86_OP_IMM ? (uint64_t)op[1].imm
							    : fixed_address(insn, &op[1]);
	out->compares_mem = op[1].type == X86_OP_MEM;
	if (!out->compares_mem || out->with)
		out->compares = reg_number(op[0].reg);
}

static int32_t stack_growth(const cs_insn *insn, const struct insn *i)
{
	const cs_x86_op *op = insn->detail->x86.operands;
	bool moves = false;

	for (unsigned int reg = 0; reg < ARRAY_LEN(regs); reg++)
		moves |= (i->writes & 1u << reg) && insn_is_stack_pointer(reg);
	if (!moves || i->is_call)
		return 0;
	if (insn->id == X86_INS_PUSH)
		return 8;
	if (insn->id == X86_INS_SUB && op[1].type == X86_OP_IMM && op[1].imm > 0 &&
	    op[1].imm <= INT32_MAX)
		return (int32_t)op[1].imm;
	return INSN_STACK_UNKNOWN;
}

static void read_insn(csh cs, const cs_insn *i, struct insn *out)
{
	cs_regs read, written;
	uint8_t nr_read, nr_written;

	*out = (struct insn){ .vaddr = i->address, .size = i->size };
	out->emulated = is_emulated(i->bytes, i->size);
	out->ends_block = cs_insn_group(cs, i, CS_GRP_JUMP) || cs_insn_group(cs, i, CS_GRP_CALL) ||
			  cs_insn_group(cs, i, CS_GRP_RET) || cs_insn_group(cs, i, CS_GRP_INT);
	out->is_call = cs_insn_group(cs, i, CS_GRP_CALL);
	out->is_conditional = cs_insn_group(cs, i, CS_GRP_JUMP) && i->id != X86_INS_JMP &&
			      i->id != X86_INS_LJMP;
	out->is_return = cs_insn_group(cs, i, CS_GRP_RET);
	out->cond = condition(i);
	if (i->id == X86_INS_CALL || i->id == X86_INS_JMP)
		out->via = fixed_address(i, &i->detail->x86.operands[0]);
	if (i->detail->x86.op_count == 1 && i->detail->x86.operands[0].type == X86_OP_IMM) {
		if (cs_insn_group(cs, i, CS_GRP_JUMP))
			out->target = i->detail->x86.operands[0].imm;
		if (out->is_call)
			out->callee = i->detail->x86.operands[0].imm;
	}
	read_mem(i, out);
	read_copy(i, out);
	read_value(i, out);
	out->compares = INSN_COMPARES_OTHER;
	out->stack = INSN_STACK_UNKNOWN;
	if (cs_regs_access(cs, i, read, &nr_read, written, &nr_written))
		return;
	out->compares = INSN_COMPARES_NONE;
	for (uint8_t k = 0; k < nr_written; k++) {
		int reg = reg_number(written[k]);

		if (written[k] == X86_REG_EFLAGS)
			out->compares = INSN_COMPARES_OTHER;
		if (reg >= 0)
			out->writes |= 1u << reg;
	}
	read_comparison(i, out);
	out->stack = stack_growth(i, out);
}

size_t insn_decode(const uint8_t *code, size_t len, uint64_t vaddr, struct insn *out, size_t max)
{
	size_t n = 0;
	cs_insn *one;
	csh cs;

	if (cs_open(CS_ARCH_X86, CS_MODE_64, &cs) != CS_ERR_OK)
		return 0;
	cs_option(cs, CS_OPT_DETAIL, CS_OPT_ON);
	one = cs_malloc(cs);
	while (one && n < max && cs_disasm_iter(cs, &code, &len, &vaddr, one))
		read_insn(cs, one, &out[n++]);
	if (one)
		cs_free(one, 1);
	cs_close(&cs);
	return n;
}

/*
 * Calls, and jumps out of a function, end in a 32-bit distance from their end: to where they lead,
 * or to the word that names it.
 */
size_t insn_find_branch(const uint8_t *code, size_t len, size_t from, uint64_t vaddr,
			uint64_t first, uint64_t last)
{
	int32_t distance;

	for (size_t i = from < sizeof(distance) ? sizeof(distance) : from + 1; i <= len; i++) {
		uint64_t to;

		memcpy(&distance, code + i - sizeof(distance), sizeof(distance));
		to = vaddr + i + (int64_t)distance;
		if (to >= first && to <= last)
			return i;
	}
	return 0;
}

bool insn_is_stack_pointer(unsigned int reg)
{
	return regs[reg].ids[0] == X86_REG_RSP;
}

/* System V ABI, AMD64 supplement, 3.2.1 and 3.2.3. */
unsigned int insn_arg_reg(unsigned int i)
{
	static const uint16_t order[] = { X86_REG_RDI, X86_REG_RSI, X86_REG_RDX, X86_REG_RCX };

	return reg_number(order[i]);
}

uint32_t insn_kept_by_calls(void)
{
	static const uint16_t kept[] = { X86_REG_RBX, X86_REG_RBP, X86_REG_RSP, X86_REG_R12,
					 X86_REG_R13, X86_REG_R14, X86_REG_R15 };
	uint32_t bits = 0;

	for (size_t i = 0; i < ARRAY_LEN(kept); i++)
		bits |= 1u << reg_number(kept[i]);
	return bits;
}

unsigned int insn_reg_slot(unsigned int reg)
{
	return regs[reg].offset / 8;
}

uint32_t insn_resolved_reloc(void)
{
	return R_X86_64_IRELATIVE;
}

bool insn_watch_reports_next(void)
{
	return true;
}

#endif
