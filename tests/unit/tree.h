/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A directory that stands for the root of a host, with the files of /proc and
 * /sys that a test puts there. */
#ifndef TREE_H
#define TREE_H

extern char tree_root[64];

/* Make a file, and the directories above it. */
void tree_put(const char *path, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* A hugetlb pool of pages of @kib KiB. */
void tree_pool(unsigned int kib, unsigned int nr, unsigned int free_pages,
	       unsigned int resv, unsigned int surplus,
	       unsigned int overcommit);
void tree_node_pool(unsigned int node, unsigned int kib, unsigned int nr,
		    unsigned int free_pages);

/* cmocka set-up and teardown. */
int tree_setup(void **state);
int tree_teardown(void **state);

#define TREE_TEST(name) \
	cmocka_unit_test_setup_teardown(name, tree_setup, tree_teardown)

#endif /* TREE_H */
