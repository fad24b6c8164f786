// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Both ways to populate must behave alike, so each test runs with both. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fake_verbs.h"
#include "populate.h"

#define PAGES 64
#define LENGTH (PAGES * 4096ul)

static int use_madvise(void **state)
{
	hmr_populate_no_madvise = false;
	return 0;
}

static int use_futex(void **state)
{
	hmr_populate_no_madvise = true;
	return 0;
}

static char *map(int prot, int flags, int fd)
{
	char *p = mmap(NULL, LENGTH, prot, flags, fd, 0);

	assert_ptr_not_equal(p, MAP_FAILED);
	return p;
}

static char *map_anon(int prot)
{
	return map(prot, MAP_PRIVATE | MAP_ANONYMOUS, -1);
}

static int present(char *p)
{
	unsigned char vec[PAGES];
	int i, n = 0;

	assert_int_equal(mincore(p, LENGTH, vec), 0);
	for (i = 0; i < PAGES; i++)
		n += vec[i] & 1;
	return n;
}

static void every_page_that_is_touched(void **state)
{
	HMR_RESULT(hmr_populate_report, report);
	char *p = map_anon(PROT_READ | PROT_WRITE);

	assert_int_equal(hmr_populate(p + 4096 + 4095, 4096 + 2, NULL, &report),
			 0);
	assert_int_equal(present(p), 3);
	assert_int_equal(hmr_populate(p, LENGTH, NULL, NULL), 0);
	assert_int_equal(present(p), PAGES);
	assert_int_equal(report.method, hmr_populate_no_madvise ?
						HMR_POPULATE_FUTEX :
						HMR_POPULATE_MADVISE);
	assert_true(report.ns > 0);
	munmap(p, LENGTH);
}

static void contents_stay(void **state)
{
	char *p = map_anon(PROT_READ | PROT_WRITE);
	unsigned long i;

	for (i = 0; i < LENGTH; i += 3)
		p[i] = (char)i;
	assert_int_equal(hmr_populate(p, LENGTH, NULL, NULL), 0);
	for (i = 0; i < LENGTH; i += 3)
		assert_int_equal(p[i], (char)i);
	munmap(p, LENGTH);
}

struct counting {
	_Atomic uint32_t *words;
	atomic_bool stop;
	uint32_t rounds;
};

static void *count(void *arg)
{
	struct counting *c = arg;
	int i;

	while (!atomic_load(&c->stop)) {
		for (i = 0; i < PAGES; i++)
			atomic_fetch_add(&c->words[i * 1024], 1);
		c->rounds++;
	}
	return NULL;
}

static void nothing_is_lost_while_others_write(void **state)
{
	char *p = map_anon(PROT_READ | PROT_WRITE);
	struct counting c = { .words = (void *)p };
	pthread_t thread;
	int i;

	pthread_create(&thread, NULL, count, &c);
	for (i = 0; i < 200; i++)
		assert_int_equal(hmr_populate(p, LENGTH, NULL, NULL), 0);
	atomic_store(&c.stop, true);
	pthread_join(thread, NULL);
	for (i = 0; i < PAGES; i++)
		assert_int_equal(c.words[i * 1024], c.rounds);
	munmap(p, LENGTH);
}

/* What smaps says of the mapping at @p: "Private_Dirty" and the like, in kB. */
static long smaps_kb(const char *p, const char *field)
{
	FILE *f = fopen("/proc/self/smaps", "r");
	char line[256], name[64];
	unsigned long start, end;
	long value, found = -1;
	int here = 0;

	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%lx-%lx ", &start, &end) == 2)
			here = (unsigned long)p >= start &&
			       (unsigned long)p < end;
		else if (here &&
			 sscanf(line, "%63[^:]: %ld", name, &value) == 2 &&
			 !strcmp(name, field))
			found = value;
	}
	fclose(f);
	return found;
}

static void reading_dirties_nothing(void **state)
{
	HMR_OPTS(hmr_populate_opts, opts, .flags = HMR_POPULATE_READ);
	char template[] = "populate.XXXXXX";
	int fd = mkstemp(template);
	char *p;

	assert_true(fd >= 0);
	unlink(template);
	assert_int_equal(ftruncate(fd, LENGTH), 0);
	/* Private and writable: a write would copy. */
	p = map(PROT_READ | PROT_WRITE, MAP_PRIVATE, fd);
	assert_int_equal(hmr_populate(p, LENGTH, &opts, NULL), 0);
	assert_int_equal(smaps_kb(p, "Rss"), LENGTH / 1024);
	assert_int_equal(smaps_kb(p, "Anonymous"), 0);
	assert_int_equal(smaps_kb(p, "Private_Dirty"), 0);
	assert_int_equal(hmr_populate(p, LENGTH, NULL, NULL), 0);
	assert_int_equal(smaps_kb(p, "Anonymous"), LENGTH / 1024);
	munmap(p, LENGTH);
	close(fd);
}

static void shared_and_memfd(void **state)
{
	int fd = memfd_create("populate", MFD_CLOEXEC);
	char *p, *q;

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, LENGTH), 0);
	p = map(PROT_READ | PROT_WRITE, MAP_SHARED, fd);
	q = map(PROT_READ | PROT_WRITE, MAP_SHARED, fd);
	assert_int_equal(hmr_populate(p, LENGTH, NULL, NULL), 0);
	assert_int_equal(smaps_kb(p, "Rss"), LENGTH / 1024);
	p[5000] = 7;
	assert_int_equal(q[5000], 7);
	munmap(p, LENGTH);
	munmap(q, LENGTH);
	close(fd);
}

static void end_of_file_is_an_error_and_no_signal(void **state)
{
	HMR_OPTS(hmr_populate_opts, opts, .flags = HMR_POPULATE_READ);
	int fd = memfd_create("populate", MFD_CLOEXEC);
	char *p;

	assert_int_equal(ftruncate(fd, LENGTH / 2), 0);
	p = map(PROT_READ | PROT_WRITE, MAP_SHARED, fd);
	assert_int_equal(hmr_populate(p, LENGTH, NULL, NULL), -EFAULT);
	assert_non_null(strstr(hmr_last_error()->text, "shorter"));
	assert_int_equal(hmr_populate(p, LENGTH, &opts, NULL), -EFAULT);
	assert_int_equal(hmr_populate(p, LENGTH / 2, NULL, NULL), 0);
	munmap(p, LENGTH);
	close(fd);
}

static void permission_is_needed(void **state)
{
	HMR_OPTS(hmr_populate_opts, read, .flags = HMR_POPULATE_READ);
	char *p = map_anon(PROT_READ);

	assert_int_equal(hmr_populate(p, LENGTH, NULL, NULL), -EACCES);
	assert_string_equal(hmr_last_error()->op, "hmr_populate");
	assert_int_equal(hmr_populate(p, LENGTH, &read, NULL), 0);
	mprotect(p, LENGTH, PROT_NONE);
	assert_int_equal(hmr_populate(p, LENGTH, &read, NULL), -EACCES);
	munmap(p, LENGTH);
}

static void holes_are_errors(void **state)
{
	HMR_OPTS(hmr_populate_opts, read, .flags = HMR_POPULATE_READ);
	char *p = map_anon(PROT_READ | PROT_WRITE);

	munmap(p + LENGTH / 2, 4096);
	assert_int_equal(hmr_populate(p, LENGTH, NULL, NULL), -ENOMEM);
	assert_int_equal(hmr_populate(p, LENGTH, &read, NULL), -ENOMEM);
	assert_int_equal(hmr_populate(p, LENGTH / 2, NULL, NULL), 0);
	munmap(p, LENGTH);
}

/* ---- several threads ---- */

#define BIG (64ul << 20)

static char *map_big(void)
{
	char *p = mmap(NULL, BIG, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(p, MAP_FAILED);
	return p;
}

static void threads_leave_nothing_out(void **state)
{
	const unsigned int threads[] = { 0, 1, 2, 5, 100 };
	HMR_RESULT(hmr_populate_report, report);
	unsigned int i;

	for (i = 0; i < 5; i++) {
		HMR_OPTS(hmr_populate_opts, opts, .threads = threads[i]);
		char *p = map_big();

		assert_int_equal(hmr_populate(p + 5000, BIG - 5000 - 4097,
					      &opts, &report),
				 0);
		assert_int_equal(smaps_kb(p, "Rss"), (BIG - 2 * 4096) / 1024);
		if (threads[i] && threads[i] < 10) {
			assert_int_equal(report.threads, threads[i]);
			assert_int_equal(report.threads_why, HMR_THREADS_ASKED);
		}
		if (threads[i] == 100)
			assert_int_equal(report.threads_why, HMR_THREADS_WORK);
		munmap(p, BIG);
	}
}

struct progress {
	atomic_flag busy;
	uint64_t calls;
	uint64_t last;
	uint64_t total;
	uint64_t stop_at;
};

static int record(uint64_t done, uint64_t total, void *arg)
{
	struct progress *p = arg;

	if (atomic_flag_test_and_set(&p->busy) || done <= p->last)
		abort();
	p->calls++;
	p->last = done;
	p->total = total;
	atomic_flag_clear(&p->busy);
	return p->stop_at && done >= p->stop_at;
}

static void progress_comes_to_the_total(void **state)
{
	struct progress progress = { .busy = ATOMIC_FLAG_INIT };
	HMR_OPTS(hmr_populate_opts, opts, .threads = 3, .progress = record,
		 .arg = &progress);
	char *p = map_big();

	assert_int_equal(hmr_populate(p, BIG, &opts, NULL), 0);
	assert_true(progress.calls > 3);
	assert_int_equal(progress.last, BIG);
	assert_int_equal(progress.total, BIG);
	munmap(p, BIG);
}

static void progress_can_cancel(void **state)
{
	struct progress progress = { .busy = ATOMIC_FLAG_INIT, .stop_at = 1 };
	HMR_OPTS(hmr_populate_opts, opts, .threads = 1, .progress = record,
		 .arg = &progress);
	char *p = map_big();

	assert_int_equal(hmr_populate(p, BIG, &opts, NULL), -ECANCELED);
	assert_int_equal(hmr_last_error()->cause, HMR_CAUSE_CANCELED);
	assert_int_equal(progress.calls, 1);
	assert_int_equal(smaps_kb(p, "Rss"), progress.last / 1024);
	/* And it can be taken up again. */
	assert_int_equal(hmr_populate(p, BIG, NULL, NULL), 0);
	assert_int_equal(smaps_kb(p, "Rss"), BIG / 1024);
	munmap(p, BIG);
}

static void an_error_of_any_thread_is_the_calls(void **state)
{
	HMR_OPTS(hmr_populate_opts, opts, .threads = 4);
	char *p = map_big();

	mprotect(p + BIG - 4096, 4096, PROT_NONE);
	assert_int_equal(hmr_populate(p, BIG, &opts, NULL), -EACCES);
	munmap(p + BIG - 4096, 4096);
	assert_int_equal(hmr_populate(p, BIG, &opts, NULL), -ENOMEM);
	munmap(p, BIG);
}

static void samples_tell_touched_from_untouched(void **state)
{
	char *p = map_big();

	assert_false(hmr_populate_looks_done(p, BIG));
	p[0] = p[BIG - 1] = 1;
	assert_false(hmr_populate_looks_done(p, BIG));
	assert_true(hmr_populate_looks_done(p, 4096));
	assert_true(hmr_populate_looks_done(p + 4095, 1));
	assert_int_equal(hmr_populate(p, BIG, NULL, NULL), 0);
	assert_true(hmr_populate_looks_done(p, BIG));
	assert_true(hmr_populate_looks_done(p + 1, BIG - 2));
	munmap(p, BIG);
	assert_false(hmr_populate_looks_done(p, BIG));
}

static void bad_arguments(void **state)
{
	HMR_OPTS(hmr_populate_opts, unknown, .flags = 1ull << 63);
	struct {
		struct hmr_populate_opts opts;
		uint64_t future;
	} newer = { .opts.size = sizeof(newer), .future = 1 };
	char c = 0;

	assert_int_equal(hmr_populate(&c, 0, NULL, NULL), -EINVAL);
	assert_int_equal(hmr_populate((void *)UINTPTR_MAX, 2, NULL, NULL),
			 -EINVAL);
	assert_int_equal(hmr_populate(&c, SIZE_MAX, NULL, NULL), -EINVAL);
	assert_int_equal(hmr_populate(&c, 1, &unknown, NULL), -EINVAL);
	assert_int_equal(hmr_populate(&c, 1, &newer.opts, NULL), -E2BIG);
}

#define BOTH(test)                                           \
	{ #test "/madvise", test, use_madvise, NULL, NULL }, \
	{                                                    \
#test "/futex", test, use_futex, NULL, NULL  \
	}

int main(void)
{
	const struct CMUnitTest tests[] = {
		BOTH(every_page_that_is_touched),
		BOTH(contents_stay),
		BOTH(nothing_is_lost_while_others_write),
		BOTH(reading_dirties_nothing),
		BOTH(shared_and_memfd),
		BOTH(end_of_file_is_an_error_and_no_signal),
		BOTH(permission_is_needed),
		BOTH(holes_are_errors),
		BOTH(threads_leave_nothing_out),
		BOTH(progress_comes_to_the_total),
		BOTH(progress_can_cancel),
		BOTH(an_error_of_any_thread_is_the_calls),
		cmocka_unit_test(samples_tell_touched_from_untouched),
		BOTH(bad_arguments),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
