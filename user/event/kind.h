/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The ids of events, shared with the BPF programs and stored in trace files: append only. */
#ifndef GVL_EVENT_KIND_H
#define GVL_EVENT_KIND_H

enum event_kind {
	EVENT_OWNER = 1,	/* lock word written; thread = new owner or 0; seq counts per lock */
	EVENT_QUEUE = 2,	/* thread entered the ready queue of lock; seq counts per lock */
	EVENT_ON_CPU = 3,	/* task tid, which owns lock, got a CPU */
	EVENT_OFF_CPU = 4,	/* task tid, which owns lock, left its CPU */
	EVENT_EXIT = 5,		/* task tid ended; text = its comm */
	EVENT_NAME = 6,		/* task tid (thread may be 0) is called text */
	EVENT_LOCK = 7,		/* lock stands for the lock word at address thread; seq = Ractor id */
	EVENT_STATE = 8,	/* begin of what is seen of lock: thread = owner or 0, tid = its task */
	EVENT_STATE_QUEUED = 9,	/* thread was queued at the EVENT_STATE before; in queue order */
	EVENT_STATE_END = 10,	/* end of what is seen of lock; seq of the last event due, 0: unknown */
	EVENT_FORK = 11,	/* target forked; thread = child's pid */
	EVENT_EXEC = 12,	/* target executed another program */
	EVENT_GONE = 13,	/* target ended */
	EVENT_CALL = 14,	/* thread, without the lock, made system call nr; fd, count = file kind */
	EVENT_LISTED = 15,	/* thread is on the VM's list of waiters; nr = how many came before */
	EVENT_MATCHED = 16,	/* task tid closes the fd that thread waits for: it is interrupted */
	EVENT_SCAN = 17,	/* tid scanned waiters for fd, for dur_ns, until now; nr of them matched */
	EVENT_CLOSE = 18,	/* tid's close(2) of fd, or dup(2) onto it, took dur_ns, until now */
	EVENT_CLOSER = 19,	/* text = where task tid closes, for the EVENT_FOREIGNs that follow */
	EVENT_FOREIGN = 20,	/* text = where thread, just told as matched, waits: in another IO */
	EVENT_SYMBOL = 21,	/* the C function at address thread is called text */
	EVENT_FUNCTION = 22,	/* task tid is about to run that at address thread without the lock */
	EVENT_COPY = 23,	/* tid copied nr << 32 | count bytes in dur_ns, until now; thread = function,
				 * fd = CPU plus 1, 0: not known */
	EVENT_TALLY = 24,	/* count of them since the last window; fd = their kind; bytes in dur_ns */
	EVENT_KIND_END
};

enum event_flag {
	EVENT_OWNER_OFF_CPU = 1 << 0,	/* OWNER, STATE: the new owner's task is not on a CPU */
	EVENT_QUEUE_EMPTY = 1 << 1,	/* OWNER: nobody was queued after the write */
	EVENT_PREEMPTED = 1 << 2,	/* OFF_CPU: still runnable */
	EVENT_OWNER_NO_TASK = 1 << 3,	/* OWNER: an M:N thread that no task runs yet */
	EVENT_RELEASED = 1 << 4,	/* OWNER: the last owner goes on without the lock, or sleeps */
	EVENT_ON_LIST = 1 << 5,		/* OWNER: the last owner is on the VM's list of waiters */
};

enum scan_flag {
	SCAN_WALKED = 1 << 0,		/* count, and thread = their sum, are of a walk over the list */
	SCAN_BASE = 1 << 1,		/* ... and each of its nodes was told before: EVENT_LISTED */
	SCAN_TRUNCATED = 1 << 2,	/* the list was longer than the walk; neither means anything */
	SCAN_ALONE = 1 << 3,		/* no system call on the fd belongs to it */
	SCAN_PER_IO = 1 << 4,		/* of the IO's own list, which the walk always tells */
	SCAN_SHARED = 1 << 6,		/* Ractors or fibers share the list: it is walked at each scan */
	SCAN_UNTIMED = 1 << 5,		/* nothing was scanned: dur_ns is not known, and next to none */
};

enum close_flag {
	CLOSE_HELD = 1 << 0,		/* with the lock held */
};

enum copy_flag {
	COPY_HELD = 1 << 0,		/* with the lock */
	COPY_BUFFER = 1 << 1,		/* IO::Buffer's own */
	COPY_OP_SHIFT = 2,
	COPY_OP = 3 << COPY_OP_SHIFT,	/* enum copy_op */
	COPY_UNTIMED = 1 << 4,		/* its end is not seen: dur_ns means nothing */
	COPY_ENDS_BELOW = 1 << 5,	/* its end is for the C library's branch to tell; in no event */
};

enum copy_op {
	COPY_MOVE,		/* memmove(), memcpy() */
	COPY_SET,		/* memset() */
	COPY_COMPARE,		/* memcmp(): of all bytes at most */
	COPY_STRING,		/* rb_enc_str_new(), which makes a String of the bytes */
};

enum tally_kind {
	TALLY_COPY,		/* a small copy */
	TALLY_TICK,		/* a clock tick found a lock's owner running ... */
	TALLY_TICK_COPY,	/* ... in a routine that copies */
};

enum file_kind {
	FILE_NONE,
	FILE_PIPE,
	FILE_SOCKET,
	FILE_FILE,
	FILE_TTY,
	FILE_EVENTFD,
	FILE_KIND_END
};

#endif
