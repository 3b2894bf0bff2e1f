/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Where the few members of Ruby's structures lie that this tool reads. */
#ifndef GVL_TARGET_LAYOUT_H
#define GVL_TARGET_LAYOUT_H

#include <stdint.h>

#include "util/err.h"

#define LAYOUT_NONE (-1)	/* this Ruby has no such member */
#define LAYOUT_MAX_OFFSET 65536	/* the largest of these structures, rb_vm_t, has about 10 KB */

/*
 * MEMBER(name, paths): paths are tried in order, separated by "|"; each is TYPE.member[.member...]
 * as DWARF names them, TYPE a typedef or "struct tag". Offsets are in bytes from the start of TYPE.
 * "TYPE.sizeof" is the size of TYPE instead. A bit-field is asked for with its width, "member:2",
 * and found only if it has that width and begins with bit 0 of a byte: the offset is that byte's.
 * Sources: vm_core.h (rb_vm_t, rb_thread_t, frames, iseqs), ractor_core.h (rb_ractor_t),
 * thread_pthread.h, iseq.h (lines), include/ruby/internal/core/rstring.h; the waiters: thread.c (up
 * to 3.4), internal/io.h (from 4.0).
 */
#define LAYOUT_MEMBERS(MEMBER) \
	MEMBER(vm_ractors,		"rb_vm_t.ractor.set") \
	MEMBER(vm_ractor_count,		"rb_vm_t.ractor.cnt") \
	MEMBER(vm_main_ractor,		"rb_vm_t.ractor.main_ractor") \
	MEMBER(vm_main_thread,		"rb_vm_t.ractor.main_thread") \
	MEMBER(vm_fork_gen,		"rb_vm_t.fork_gen") \
	MEMBER(vm_waiting_fds,		"rb_vm_t.waiting_fds") \
	MEMBER(ractor_id,		"rb_ractor_t.pub.id") \
	MEMBER(ractor_node,		"rb_ractor_t.vmlr_node") \
	MEMBER(ractor_threads,		"rb_ractor_t.threads.set") \
	MEMBER(ractor_thread_count,	"rb_ractor_t.threads.cnt") \
	MEMBER(ractor_sched,		"rb_ractor_t.threads.sched|rb_ractor_t.threads.gvl") \
	MEMBER(ractor_owner, \
	       "rb_ractor_t.threads.sched.running|rb_ractor_t.threads.gvl.owner") \
	MEMBER(ractor_queue, \
	       "rb_ractor_t.threads.sched.readyq|rb_ractor_t.threads.gvl.waitq") \
	MEMBER(ractor_queue_count,	"rb_ractor_t.threads.sched.readyq_cnt") \
	MEMBER(thread_node,		"rb_thread_t.lt_node") \
	MEMBER(thread_ractor,		"rb_thread_t.ractor") \
	MEMBER(thread_vm,		"rb_thread_t.vm") \
	MEMBER(thread_ec,		"rb_thread_t.ec") \
	MEMBER(thread_name,		"rb_thread_t.name") \
	MEMBER(thread_tid,		"rb_thread_t.tid") \
	MEMBER(thread_native,		"rb_thread_t.nt") \
	MEMBER(thread_queue_node, \
	       "rb_thread_t.sched.node.readyq|rb_thread_t.native_thread_data.node.gvl") \
	MEMBER(native_tid,		"struct rb_native_thread.tid") \
	MEMBER(native_running,		"struct rb_native_thread.running_thread") \
	MEMBER(native_dedicated,	"struct rb_native_thread.dedicated") \
	MEMBER(ractor_mn,		"rb_ractor_t.threads.sched.enable_mn_threads") \
	MEMBER(ec_cfp,			"rb_execution_context_t.cfp") \
	MEMBER(ec_thread,		"rb_execution_context_t.thread_ptr") \
	MEMBER(file_io,			"struct RFile.fptr") \
	MEMBER(io_fd,			"rb_io_t.fd|struct rb_io.fd") \
	MEMBER(io_mode,			"rb_io_t.mode|struct rb_io.mode") \
	MEMBER(io_waiters,		"struct rb_io.blocking_operations") \
	MEMBER(io_fork_gen,		"struct rb_io.fork_generation") \
	MEMBER(waiter_node, \
	       "struct waiting_fd.wfd_node|struct rb_io_blocking_operation.list") \
	MEMBER(waiter_thread,		"struct waiting_fd.th") \
	MEMBER(waiter_fd,		"struct waiting_fd.fd") \
	MEMBER(waiter_ec,		"struct rb_io_blocking_operation.ec") \
	MEMBER(thread_status,		"rb_thread_t.status:2") \
	MEMBER(ec_stack,		"rb_execution_context_t.vm_stack") \
	MEMBER(ec_stack_words,		"rb_execution_context_t.vm_stack_size") \
	MEMBER(cfp_pc,			"rb_control_frame_t.pc") \
	MEMBER(cfp_iseq,		"rb_control_frame_t.iseq") \
	MEMBER(cfp_self,		"rb_control_frame_t.self") \
	MEMBER(cfp_size,		"rb_control_frame_t.sizeof") \
	MEMBER(iseq_body,		"rb_iseq_t.body") \
	MEMBER(body_code,		"struct rb_iseq_constant_body.iseq_encoded") \
	MEMBER(body_code_words,		"struct rb_iseq_constant_body.iseq_size") \
	MEMBER(body_pathobj,		"struct rb_iseq_constant_body.location.pathobj") \
	MEMBER(body_lines,		"struct rb_iseq_constant_body.insns_info.body") \
	MEMBER(body_line_count,		"struct rb_iseq_constant_body.insns_info.size") \
	MEMBER(body_line_index, \
	       "struct rb_iseq_constant_body.insns_info.succ_index_table") \
	MEMBER(line_no,			"struct iseq_insn_info_entry.line_no") \
	MEMBER(line_size,		"struct iseq_insn_info_entry.sizeof") \
	MEMBER(string_embedded, \
	       "struct RString.as.embed.ary|struct RString.as.ary") \
	MEMBER(io_self,			"rb_io_t.self|struct rb_io.self") \
	MEMBER(io_closing_ec,		"struct rb_io.closing_ec") \
	MEMBER(waiter_busy,		"struct waiting_fd.busy") \
	MEMBER(cfp_ep,			"rb_control_frame_t.ep") \
	MEMBER(method_def,		"struct rb_callable_method_entry_struct.def") \
	MEMBER(def_function,		"struct rb_method_definition_struct.body.cfunc.func")

struct layout {
#define LAYOUT_FIELD(name, paths) int32_t name;
	LAYOUT_MEMBERS(LAYOUT_FIELD)
#undef LAYOUT_FIELD
};

/* The built-in layout of exactly @version ("3.3.8") on @arch ("x86_64"), or NULL. */
const struct layout *layout_find(const char *version, const char *arch);

/*
 * Reads the layout from the DWARF in @path, an ELF file (a program, a library, or a separate debug
 * file; linked). 0, or -errno with @e set and *out untouched: no DWARF, or a required member is
 * missing. Members that this Ruby does not have are LAYOUT_NONE. The file is not trusted.
 */
int layout_from_dwarf(struct layout *out, const char *path, struct err *e);

/* 0 when the members every measurement needs are there and plausible, else -EINVAL with @e set. */
int layout_check(const struct layout *l, struct err *e);

#endif
