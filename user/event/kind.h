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
	EVENT_KIND_END
};

enum event_flag {
	EVENT_OWNER_OFF_CPU = 1 << 0,	/* OWNER, STATE: the new owner's task is not on a CPU */
	EVENT_QUEUE_EMPTY = 1 << 1,	/* OWNER: nobody was queued after the write */
	EVENT_PREEMPTED = 1 << 2,	/* OFF_CPU: still runnable */
	EVENT_OWNER_NO_TASK = 1 << 3,	/* OWNER: an M:N thread that no task runs yet */
};

#endif
