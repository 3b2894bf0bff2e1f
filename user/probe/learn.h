/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What is known of a process's sites: candidates from its code, proven or disproven by running,
 * added to by watchpoints, kept between runs.
 */
#ifndef GVL_PROBE_LEARN_H
#define GVL_PROBE_LEARN_H

#include <stdbool.h>
#include <stdint.h>

struct tracee;

/*
 * Fills te->sites from the cache, or else from the code. The cache is a file per build-id in the
 * user's cache folder ($XDG_CACHE_HOME or ~/.cache, gvlscope/sites/); each entry is checked against
 * the code before it is believed, and proven anew by running.
 */
void learn_begin(struct tracee *te);

/* A writer was missed: looks at all code again, whatever the cache said. True when that is news. */
bool learn_again(struct tracee *te);

/* Writes the cache. Failure is silent: the next run learns again. */
void learn_save(const struct tracee *te);

/* Looks at what the probed sites did. True when some are disproven that still cost traps. */
bool learn_prove(struct tracee *te);

/* Adds writers that watchpoints have seen. True when one is new. */
bool learn_writers(struct tracee *te);

/* True when owner words can be followed by probing: a candidate for it is left. */
bool learn_has_sites(const struct tracee *te);

/* Watched long enough: nothing new came for some time. */
bool learn_is_settled(const struct tracee *te, uint64_t now_ns);

#endif
