/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A circular doubly linked list of nodes inside other structures, as Ruby's (ccan/list/list.h): the
 * head is a node too, and next comes first.
 */
#ifndef GVL_REF_LIST_H
#define GVL_REF_LIST_H

#include <stdbool.h>
#include <stddef.h>

struct ref_list {
	struct ref_list *next, *prev;
};

#define ref_entry(node, type, member) ((type *)((char *)(node) - offsetof(type, member)))

static inline void ref_list_init(struct ref_list *head)
{
	*head = (struct ref_list){ head, head };
}

static inline bool ref_list_is_empty(const struct ref_list *head)
{
	return head->next == head;
}

/* Ruby's ccan_list_add(): at the front, where a scan begins. */
static inline void ref_list_add(struct ref_list *head, struct ref_list *node)
{
	*node = (struct ref_list){ head->next, head };
	head->next->prev = node;
	head->next = node;
}

static inline void ref_list_add_tail(struct ref_list *head, struct ref_list *node)
{
	*node = (struct ref_list){ head, head->prev };
	head->prev->next = node;
	head->prev = node;
}

/* Leaves @node an empty list of its own: deleting it again is harmless. */
static inline void ref_list_del(struct ref_list *node)
{
	node->next->prev = node->prev;
	node->prev->next = node->next;
	ref_list_init(node);
}

#endif
