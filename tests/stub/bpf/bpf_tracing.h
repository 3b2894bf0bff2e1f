/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef GVL_STUB_BPF_TRACING_H
#define GVL_STUB_BPF_TRACING_H

#define BPF_PROG(name, ...) name(__VA_ARGS__)
#define PT_REGS_IP(regs) ((regs)->ip)
#define PT_REGS_SP(regs) ((regs)->sp)
#define PT_REGS_RC(regs) ((regs)->ax)
#define PT_REGS_PARM2(regs) ((regs)->si)
#define PT_REGS_PARM1_CORE_SYSCALL(regs) ((regs)->di)
#define PT_REGS_PARM2_CORE_SYSCALL(regs) ((regs)->si)

#endif
