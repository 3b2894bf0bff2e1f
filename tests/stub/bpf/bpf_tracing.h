/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef GVL_STUB_BPF_TRACING_H
#define GVL_STUB_BPF_TRACING_H

#define BPF_PROG(name, ...) name(__VA_ARGS__)
#define PT_REGS_IP(regs) ((regs)->ip)

#endif
