// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * A list is enough: adding and removing, which happen at each registration, are
 * O(1) under the lock; only freeing a buffer and closing a domain search it.
 */
#include <pthread.h>

#include "ranges.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct hmr_range head = { .prev = &head, .next = &head };

void hmr_range_add(struct hmr_range *range)
{
	pthread_mutex_lock(&lock);
	range->prev = &head;
	range->next = head.next;
	head.next->prev = range;
	head.next = range;
	pthread_mutex_unlock(&lock);
}

void hmr_range_del(struct hmr_range *range)
{
	pthread_mutex_lock(&lock);
	range->prev->next = range->next;
	range->next->prev = range->prev;
	pthread_mutex_unlock(&lock);
}

unsigned int hmr_ranges_over(const void *addr, size_t length,
			     struct hmr_range *example)
{
	uintptr_t start = (uintptr_t)addr;
	const struct hmr_range *r;
	unsigned int n = 0;

	pthread_mutex_lock(&lock);
	for (r = head.next; r != &head; r = r->next) {
		if (r->addr - start >= length && start - r->addr >= r->length)
			continue;
		*example = *r;
		n++;
	}
	pthread_mutex_unlock(&lock);
	return n;
}

unsigned int hmr_ranges_of(const void *owner, struct hmr_range *example)
{
	const struct hmr_range *r;
	unsigned int n = 0;

	pthread_mutex_lock(&lock);
	for (r = head.next; r != &head; r = r->next) {
		if (r->owner != owner)
			continue;
		*example = *r;
		n++;
	}
	pthread_mutex_unlock(&lock);
	return n;
}

unsigned int hmr_ranges_list(const void *owner, struct hmr_range **list,
			     unsigned int max)
{
	struct hmr_range *r;
	unsigned int n = 0;

	pthread_mutex_lock(&lock);
	for (r = head.next; r != &head && n < max; r = r->next)
		if (r->owner == owner)
			list[n++] = r;
	pthread_mutex_unlock(&lock);
	return n;
}

void hmr_ranges_forked(void)
{
	pthread_mutex_init(&lock, NULL);
	head.prev = head.next = &head;
}
