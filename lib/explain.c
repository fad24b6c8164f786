// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Why a registration failed: an errno, the facts around it, and a table of
 * rules, of which the first that fits speaks. What no rule fits is said to be
 * not known; nothing is guessed.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "explain.h"
#include "pages.h"
#include "verbs_ops.h"
#include "vma.h"

/* linux/capability.h, spared for the one number */
#define CAP_IPC_LOCK 14

/* Of soft-RoCE, in its answer to ibv_query_device(). */
#define RXE_VENDOR_ID 0xffffff

/* The kernel's ENOTSUPP, which it lets slip through to users. */
#define KERNEL_ENOTSUPP 524

const char *hmr_status_path = "/proc/self/status";

struct facts {
	const struct hmr_error *err;
	/* the range */
	bool hole;
	bool unreadable;
	bool unwritable;
	bool io;
	/* the process, in bytes */
	bool may_lock;
	uint64_t pinned;
	uint64_t memlock_soft;
	uint64_t memlock_hard;
	/* the device */
	bool rxe;
};

static void look_at_vma(const struct hmr_vma *vma, void *arg)
{
	struct facts *f = arg;

	f->unreadable |= !vma->readable;
	f->unwritable |= !vma->writable;
	f->io |= vma->io;
}

static void read_status(struct facts *f)
{
	char line[256];
	uint64_t value;
	FILE *file = fopen(hmr_status_path, "re");

	if (!file)
		return;
	while (fgets(line, sizeof(line), file)) {
		if (sscanf(line, "VmPin: %" SCNu64 " kB", &value) == 1)
			f->pinned = value * HMR_KIB;
		else if (sscanf(line, "CapEff: %" SCNx64, &value) == 1)
			f->may_lock = value >> CAP_IPC_LOCK & 1;
	}
	fclose(file);
}

static void gather(struct facts *f, struct ibv_context *context)
{
	struct rlimit lim = { RLIM_INFINITY, RLIM_INFINITY };
	struct ibv_device_attr attr = { 0 };

	f->hole = hmr_vma_walk(f->err->addr, f->err->length, look_at_vma, f) ==
		  -ENOMEM;
	read_status(f);
	getrlimit(RLIMIT_MEMLOCK, &lim);
	f->memlock_soft = lim.rlim_cur;
	f->memlock_hard = lim.rlim_max;
	f->rxe = !hmr_verbs->query_device(context, &attr) &&
		 attr.vendor_id == RXE_VENDOR_ID;
}

/* What the kernel counts against RLIMIT_MEMLOCK: whole base pages. */
static uint64_t pin_bytes(const struct facts *f)
{
	uintptr_t start = (uintptr_t)f->err->addr;
	size_t base = hmr_base_page();

	return hmr_align_up(start + f->err->length, base) -
	       hmr_align_down(start, base);
}

static bool over_memlock(const struct facts *f)
{
	return !f->may_lock && f->memlock_soft != RLIM_INFINITY &&
	       f->pinned + pin_bytes(f) > f->memlock_soft;
}

static void say_memlock(const struct facts *f, char *text, size_t size)
{
	char need[HMR_SIZE_TEXT], have[HMR_SIZE_TEXT];
	char soft[HMR_SIZE_TEXT], hard[HMR_SIZE_TEXT];

	snprintf(text, size,
		 "RLIMIT_MEMLOCK: %s to pin and %s pinned already, but the "
		 "limit is %s (hard limit %s) and CAP_IPC_LOCK is missing: "
		 "raise it, as with ulimit -l, LimitMEMLOCK= or --ulimit "
		 "memlock=",
		 hmr_size_text(pin_bytes(f), need),
		 hmr_size_text(f->pinned, have),
		 hmr_size_text(f->memlock_soft, soft),
		 f->memlock_hard == RLIM_INFINITY ?
			 "unlimited" :
			 hmr_size_text(f->memlock_hard, hard));
}

/*
 * 12985e5915a0 ("RDMA/rxe: Fix iova-to-va conversion for MR page sizes !=
 * PAGE_SIZE"), in Linux 7.0 and stable trees such as 6.12.y, keeps 16 bytes for
 * each 4 KiB page of an MR in one kmalloc, which is 4 MiB at most.
 */
static bool over_rxe_limit(const struct facts *f)
{
	return f->rxe && pin_bytes(f) > HMR_GIB;
}

static void say_rxe_limit(const struct facts *f, char *text, size_t size)
{
	char bytes[HMR_SIZE_TEXT];

	snprintf(text, size,
		 "soft-RoCE (rxe) of Linux 6.12 to 7.3 can't register more "
		 "than 1 GiB of whole pages as one MR (here %s) and warns in "
		 "the kernel log; on another kernel it is lack of memory: "
		 "register in pieces of 1 GiB",
		 hmr_size_text(pin_bytes(f), bytes));
}

static bool has_hole(const struct facts *f)
{
	return f->hole;
}

static void say_hole(const struct facts *f, char *text, size_t size)
{
	snprintf(text, size,
		 "part of the range isn't mapped: memory must be allocated "
		 "before it is registered and freed after");
}

static bool is_unwritable(const struct facts *f)
{
	return f->unwritable && f->err->access & IBV_ACCESS_LOCAL_WRITE;
}

static void say_unwritable(const struct facts *f, char *text, size_t size)
{
	snprintf(text, size,
		 "the mapping is read-only and IBV_ACCESS_LOCAL_WRITE was "
		 "asked for: register it without write access, or map it "
		 "with PROT_WRITE");
}

static bool is_unreadable(const struct facts *f)
{
	return f->unreadable;
}

static void say_unreadable(const struct facts *f, char *text, size_t size)
{
	snprintf(text, size, "part of the range is mapped without PROT_READ");
}

static bool is_io(const struct facts *f)
{
	return f->io;
}

static void say_io(const struct facts *f, char *text, size_t size)
{
	snprintf(text, size,
		 "the mapping is memory of a device, without pages that could "
		 "be pinned: its driver may offer it as a dmabuf");
}

static bool always(const struct facts *f)
{
	return true;
}

static void say_notsupp(const struct facts *f, char *text, size_t size)
{
	snprintf(text, size,
		 "the driver doesn't support this kind of registration "
		 "(its error 524, ENOTSUPP)");
}

static const struct rule {
	int err;
	bool (*applies)(const struct facts *f);
	void (*say)(const struct facts *f, char *text, size_t size);
} rules[] = {
	{ -ENOMEM, over_memlock, say_memlock },
	{ -EFAULT, has_hole, say_hole },
	{ -ENOMEM, has_hole, say_hole },
	{ -EFAULT, is_io, say_io },
	{ -EFAULT, is_unreadable, say_unreadable },
	{ -EFAULT, is_unwritable, say_unwritable },
	{ -ENOMEM, over_rxe_limit, say_rxe_limit },
	{ -KERNEL_ENOTSUPP, always, say_notsupp },
};

static void explain(const struct facts *f, char *text, size_t size)
{
	unsigned int i;

	for (i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
		if (rules[i].err == f->err->err && rules[i].applies(f)) {
			rules[i].say(f, text, size);
			return;
		}
	}
	snprintf(text, size, "the cause is not known to hugemr");
}

int hmr_fail_reg(struct hmr_error *err, struct ibv_context *context)
{
	struct facts f = { .err = err };
	char why[400], bytes[HMR_SIZE_TEXT];

	snprintf(err->device, sizeof(err->device), "%s",
		 hmr_verbs->device_name(context));
	gather(&f, context);
	explain(&f, why, sizeof(why));
	return hmr_fail(err, "%s refused to register %s at %p: %s: %s",
			err->device, hmr_size_text(err->length, bytes),
			err->addr, strerror(-err->err), why);
}
