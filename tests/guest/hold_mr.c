// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * hold_mr DEVICE LENGTH: register LENGTH bytes by plain libibverbs and print
 * "lkey rkey length"; at a line or the end of stdin deregister and print
 * "gone"; end at the next one. It is what the netlink tests look at, and has
 * nothing to do with libhugemr.
 */
#include <infiniband/verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static struct ibv_context *open_device(const char *name)
{
	struct ibv_context *context = NULL;
	struct ibv_device **list;
	int i, count;

	list = ibv_get_device_list(&count);
	if (!list)
		return NULL;
	for (i = 0; i < count && !context; i++)
		if (!strcmp(ibv_get_device_name(list[i]), name))
			context = ibv_open_device(list[i]);
	ibv_free_device_list(list);
	return context;
}

static void wait_for_line(void)
{
	int c;

	do {
		c = getchar();
	} while (c != '\n' && c != EOF);
}

static int hold(struct ibv_pd *pd, size_t length)
{
	struct ibv_mr *mr;
	void *buffer;
	int err = 1;

	buffer = mmap(NULL, length, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (buffer == MAP_FAILED) {
		perror("mmap");
		return 1;
	}
	mr = ibv_reg_mr(pd, buffer, length,
			IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ);
	if (!mr) {
		perror("ibv_reg_mr");
		goto out_unmap;
	}
	printf("0x%x 0x%x %zu\n", mr->lkey, mr->rkey, mr->length);
	wait_for_line();
	err = ibv_dereg_mr(mr);
	if (err) {
		fprintf(stderr, "ibv_dereg_mr: %s\n", strerror(err));
		goto out_unmap;
	}
	printf("gone\n");
	wait_for_line();
out_unmap:
	munmap(buffer, length);
	return err;
}

int main(int argc, char **argv)
{
	struct ibv_context *context;
	struct ibv_pd *pd;
	int err = 1;

	if (argc != 3) {
		fprintf(stderr, "Usage: hold_mr DEVICE LENGTH\n");
		return 2;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	context = open_device(argv[1]);
	if (!context) {
		fprintf(stderr, "%s: cannot open it\n", argv[1]);
		return 1;
	}
	pd = ibv_alloc_pd(context);
	if (!pd) {
		perror("ibv_alloc_pd");
		goto out_close;
	}
	err = hold(pd, strtoull(argv[2], NULL, 0));
	ibv_dealloc_pd(pd);
out_close:
	ibv_close_device(context);
	return err ? 1 : 0;
}
