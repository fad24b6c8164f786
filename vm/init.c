// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * PID 1 of the guest: bring up what a verbs program needs, run one command,
 * report how it ended, switch off.
 *
 * vm/run and this program meet in four places:
 *  - the kernel command line: hugemr.limit= (seconds since boot), .rxe=,
 *    .pages_2m=, .pages_1g= (what was reserved), .tty=1 (command on a tty)
 *  - /cmd and /env: argv and environment, NUL-terminated strings; no shell
 *    comes between, so nothing needs quoting
 *  - /modules/list: files to load, in this order
 *  - virtio-serial ports, found by name: hugemr.stdout and .stderr belong to
 *    the command, hugemr.artifacts takes a tar of /out, and the last line of
 *    hugemr.result is the verdict:
 *
 *	exit N | signal N | timeout | error TEXT
 *
 * A guest that dies early leaves no such line, whatever QEMU returns: that is
 * how the host tells a panic from a failed test.
 *
 * It is C and static so that nothing of this depends on a shell, on applets or
 * on quoting, and so that a broken library in the guest still gets reported.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/io.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "init.h"

#define DEBUG_EXIT_PORT 0x501 /* QEMU's isa-debug-exit */
#define NSEC_PER_SEC 1000000000ll

static struct {
	unsigned long limit;
	unsigned long rxe;
	unsigned long pages_2m;
	unsigned long pages_1g;
	unsigned long tty;
} conf;

static int result_fd = -1;

/* To the console, which the host keeps as a file. */
static void __attribute__((format(printf, 1, 2))) say(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	dprintf(STDERR_FILENO, "hugemr: ");
	vdprintf(STDERR_FILENO, fmt, ap);
	dprintf(STDERR_FILENO, "\n");
	va_end(ap);
}

/*
 * Closing a port sends the host a message and waits until it was taken, so what
 * was written before has left the guest when this ends QEMU at once. A reboot
 * is the way out where there is no such port: QEMU runs with -no-reboot.
 */
static _Noreturn void power_off(void)
{
	if (result_fd >= 0)
		close(result_fd);
	if (!ioperm(DEBUG_EXIT_PORT, 1, 1))
		outb(0, DEBUG_EXIT_PORT);
	sync();
	reboot(RB_AUTOBOOT);
	for (;;)
		pause();
}

_Noreturn void die(const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	say("%s", text);
	if (result_fd >= 0)
		dprintf(result_fd, "error %s\n", text);
	power_off();
}

static long long now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_BOOTTIME, &ts);
	return ts.tv_sec * NSEC_PER_SEC + ts.tv_nsec;
}

bool wait_until(bool (*cond)(const void *), const void *arg,
		unsigned int seconds)
{
	const struct timespec pause_time = { .tv_nsec = 10 * 1000 * 1000 };
	const long long deadline = now() + seconds * NSEC_PER_SEC;

	while (!cond(arg)) {
		if (now() >= deadline)
			return false;
		nanosleep(&pause_time, NULL);
	}
	return true;
}

char *slurp(const char *path, size_t *length)
{
	size_t size = 0, room = 0;
	char *text = NULL;
	ssize_t got;
	int fd;

	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	do {
		if (size + 1 >= room) {
			room = 2 * room + 4096;
			text = realloc(text, room);
			if (!text)
				die("out of memory for %s", path);
		}
		got = read(fd, text + size, room - size - 1);
		if (got > 0)
			size += got;
	} while (got > 0);
	close(fd);
	if (got < 0) {
		free(text);
		return NULL;
	}
	text[size] = '\0';
	if (length)
		*length = size;
	return text;
}

static void mount_all(void)
{
	static const struct {
		const char *type, *where, *options;
		bool optional;
	} mounts[] = {
		{ "devtmpfs", "/dev", NULL, false },
		{ "proc", "/proc", NULL, false },
		{ "sysfs", "/sys", NULL, false },
		{ "tmpfs", "/out", NULL, false },
		{ "tmpfs", "/dev/shm", "mode=1777", false },
		{ "devpts", "/dev/pts", "ptmxmode=666", true },
		{ "debugfs", "/sys/kernel/debug", NULL, true },
		{ "tracefs", "/sys/kernel/tracing", NULL, true },
		{ "cgroup2", "/sys/fs/cgroup", NULL, true },
		{ "hugetlbfs", "/dev/hugepages", NULL, true },
	};
	size_t i;

	for (i = 0; i < sizeof(mounts) / sizeof(*mounts); i++) {
		mkdir(mounts[i].where, 0755);
		if (mount(mounts[i].type, mounts[i].where, mounts[i].type, 0,
			  mounts[i].options) &&
		    errno != EBUSY && !mounts[i].optional)
			die("mount %s: %m", mounts[i].where);
	}
	/* not a mount: what the host has below its /tmp may have been packed */
	chmod("/tmp", 01777);
}

static void open_console(void)
{
	int fd;

	fd = open("/dev/console", O_RDWR | O_NOCTTY);
	if (fd < 0)
		return;
	dup2(fd, STDIN_FILENO);
	dup2(fd, STDOUT_FILENO);
	dup2(fd, STDERR_FILENO);
	if (fd > STDERR_FILENO)
		close(fd);
}

static void read_conf(void)
{
	static const struct {
		const char *key;
		unsigned long *value;
	} keys[] = {
		{ "hugemr.limit=", &conf.limit },
		{ "hugemr.rxe=", &conf.rxe },
		{ "hugemr.pages_2m=", &conf.pages_2m },
		{ "hugemr.pages_1g=", &conf.pages_1g },
		{ "hugemr.tty=", &conf.tty },
	};
	char *line, *word, *save;
	size_t i, n;

	line = slurp("/proc/cmdline", NULL);
	if (!line)
		die("/proc/cmdline: %m");
	for (word = strtok_r(line, " \n", &save); word;
	     word = strtok_r(NULL, " \n", &save)) {
		for (i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
			n = strlen(keys[i].key);
			if (!strncmp(word, keys[i].key, n))
				*keys[i].value = strtoul(word + n, NULL, 10);
		}
	}
	free(line);
}

/*
 * A module that won't load is told and passed over: some only serve other
 * processors (ENODEV), and what is really needed gets looked for afterwards.
 */
static void load_module(const char *name)
{
	char path[256];
	int fd;

	snprintf(path, sizeof(path), "/modules/%s", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || (syscall(SYS_finit_module, fd, "", 0) && errno != EEXIST))
		say("module %s: %m", name);
	if (fd >= 0)
		close(fd);
}

static void load_modules(void)
{
	char *list, *name, *save;

	list = slurp("/modules/list", NULL);
	if (!list)
		return; /* all built in */
	for (name = strtok_r(list, "\n", &save); name;
	     name = strtok_r(NULL, "\n", &save))
		load_module(name);
	free(list);
}

/* The N and M of /dev/vportNpM depend on the order of devices: go by name. */
static bool find_port(const char *wanted, char *path, size_t size)
{
	struct dirent *entry;
	bool found = false;
	char name_path[512];
	char *name;
	DIR *dir;

	dir = opendir("/sys/class/virtio-ports");
	if (!dir)
		return false;
	while (!found && (entry = readdir(dir))) {
		snprintf(name_path, sizeof(name_path),
			 "/sys/class/virtio-ports/%s/name", entry->d_name);
		name = slurp(name_path, NULL);
		if (!name)
			continue;
		name[strcspn(name, "\n")] = '\0';
		found = !strcmp(name, wanted);
		if (found)
			snprintf(path, size, "/dev/%s", entry->d_name);
		free(name);
	}
	closedir(dir);
	return found;
}

/* A port's name comes by a message of its own, after the device. */
static bool port_exists(const void *name)
{
	char path[512];

	return find_port(name, path, sizeof(path));
}

/*
 * No O_CREAT: in devtmpfs that would make a regular file of a missing port, and
 * all that is written would vanish without an error.
 */
static int open_port(const char *name)
{
	char path[512];
	struct stat st;
	int fd;

	if (!wait_until(port_exists, name, COME_UP_SECONDS) ||
	    !find_port(name, path, sizeof(path)))
		die("no virtio-serial port %s", name);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		die("%s: %m", path);
	if (fstat(fd, &st) || !S_ISCHR(st.st_mode))
		die("%s: not a device", path);
	return fd;
}

static void check_pages(const char *size, unsigned long wanted)
{
	unsigned long got = 0;
	char path[128];
	char *text;

	if (!wanted)
		return;
	snprintf(path, sizeof(path),
		 "/sys/kernel/mm/hugepages/hugepages-%s/nr_hugepages", size);
	text = slurp(path, NULL);
	if (text)
		got = strtoul(text, NULL, 10);
	free(text);
	if (got < wanted)
		die("only %lu of %lu pages of %s could be reserved at boot: "
		    "give the guest more memory",
		    got, wanted, size);
}

/* NUL-terminated strings, one after another, as a vector that ends in NULL. */
static char **split(char *text, size_t length)
{
	size_t count = 0;
	char **vector;
	char *at;

	for (at = text; at < text + length; at += strlen(at) + 1)
		count++;
	vector = calloc(count + 1, sizeof(*vector));
	if (!vector)
		die("out of memory");
	count = 0;
	for (at = text; at < text + length; at += strlen(at) + 1)
		vector[count++] = at;
	return vector;
}

static char **read_strings(const char *path)
{
	size_t length;
	char *text;

	text = slurp(path, &length);
	if (!text)
		die("%s: %m", path);
	return split(text, length);
}

static void set_environment(void)
{
	char **env;

	clearenv();
	setenv("PATH", "/usr/local/bin:/usr/bin:/usr/sbin:/bin:/sbin", 1);
	setenv("HOME", "/root", 1);
	setenv("HUGEMR_GUEST", "1", 1);
	setenv("HUGEMR_OUT", "/out", 1);
	if (conf.tty)
		setenv("TERM", "linux", 1);
	for (env = read_strings("/env"); *env; env++)
		putenv(*env);
}

/*
 * A session of its own keeps the command's signals away from us; on a tty that
 * session also needs it as its controlling terminal, for ^C and job control.
 */
static _Noreturn void child(char **argv, int in, int out, int err, int failure)
{
	const struct rlimit files = { .rlim_cur = 65536, .rlim_max = 65536 };
	sigset_t none;

	setsid();
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	setrlimit(RLIMIT_NOFILE, &files);
	if (conf.tty)
		ioctl(in, TIOCSCTTY, 1);
	dup2(in, STDIN_FILENO);
	dup2(out, STDOUT_FILENO);
	dup2(err, STDERR_FILENO);
	execvp(argv[0], argv);
	dprintf(failure, "%s: %m", argv[0]);
	_exit(127);
}

/* Fork and exec; an exec that fails is the guest's error, not the command's. */
static pid_t start(char **argv, int in, int out, int err)
{
	char reason[256];
	int failure[2];
	ssize_t length;
	pid_t pid;

	if (pipe2(failure, O_CLOEXEC))
		die("pipe: %m");
	pid = fork();
	if (pid < 0)
		die("fork: %m");
	if (!pid)
		child(argv, in, out, err, failure[1]);
	close(failure[1]);
	length = read(failure[0], reason, sizeof(reason) - 1);
	close(failure[0]);
	if (length > 0)
		die("cannot run %.*s", (int)length, reason);
	return pid;
}

/*
 * Reap whatever ends until pid does, for at most until the deadline (0: none).
 * SIGCHLD is blocked, so one that comes between waitpid() and the wait for it
 * stays pending and none is missed. pid -1 waits for all of them.
 */
static bool reap(pid_t pid, long long deadline, int *status)
{
	struct timespec left = { .tv_sec = 3600 };
	long long ns;
	sigset_t chld;
	pid_t ended;
	int st;

	sigemptyset(&chld);
	sigaddset(&chld, SIGCHLD);
	for (;;) {
		while ((ended = waitpid(-1, &st, WNOHANG)) > 0) {
			if (ended != pid)
				continue;
			*status = st;
			return true;
		}
		if (ended < 0)
			return pid == -1;
		if (deadline) {
			ns = deadline - now();
			if (ns <= 0)
				return false;
			left.tv_sec = ns / NSEC_PER_SEC;
			left.tv_nsec = ns % NSEC_PER_SEC;
		}
		sigtimedwait(&chld, NULL, &left);
	}
}

/* Ask the kernel where the tasks hang that won't go on: to the console. */
static void dump_blocked_tasks(void)
{
	int fd;

	fd = open("/proc/sysrq-trigger", O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	if (write(fd, "w", 1) != 1)
		say("sysrq: %m");
	close(fd);
}

/*
 * From PID 1, -1 is every process but us. One in an uninterruptible sleep may
 * outlive this; the verdict must not wait for it.
 */
static void kill_all(void)
{
	kill(-1, SIGKILL);
	if (!reap(-1, now() + 2 * NSEC_PER_SEC, NULL))
		say("some processes cannot be killed");
}

static void open_streams(int *in, int *out, int *err)
{
	if (conf.tty) {
		*in = *out = *err = open("/dev/ttyS0", O_RDWR | O_CLOEXEC);
		if (*in < 0)
			die("/dev/ttyS0: %m");
		return;
	}
	*in = open("/dev/null", O_RDONLY | O_CLOEXEC);
	*out = open_port("hugemr.stdout");
	*err = open_port("hugemr.stderr");
}

/* Run /cmd; the verdict in words. */
static void run_command(char *verdict, size_t size)
{
	const long long deadline = conf.limit * NSEC_PER_SEC;
	int in, out, err, status;
	pid_t pid;

	open_streams(&in, &out, &err);
	set_environment();
	pid = start(read_strings("/cmd"), in, out, err);
	if (!reap(pid, deadline, &status)) {
		say("time limit of %lu s reached", conf.limit);
		dump_blocked_tasks();
		snprintf(verdict, size, "timeout");
	} else if (WIFSIGNALED(status)) {
		snprintf(verdict, size, "signal %d", WTERMSIG(status));
	} else {
		snprintf(verdict, size, "exit %d", WEXITSTATUS(status));
	}
	kill_all();
	close(in);
	close(out);
	close(err);
}

static bool is_empty(const char *path)
{
	struct dirent *entry;
	int count = 0;
	DIR *dir;

	dir = opendir(path);
	if (!dir)
		return true;
	while ((entry = readdir(dir)))
		count += strcmp(entry->d_name, ".") &&
			 strcmp(entry->d_name, "..");
	closedir(dir);
	return !count;
}

static void send_artifacts(void)
{
	static char tar[] = "busybox\0tar\0-c\0-C\0/out\0.";
	int fd, status;
	pid_t pid;

	if (conf.tty || is_empty("/out"))
		return;
	fd = open_port("hugemr.artifacts");
	pid = start(split(tar, sizeof(tar)), STDIN_FILENO, fd, STDERR_FILENO);
	if (!reap(pid, 0, &status) || status)
		die("packing /out failed");
	close(fd);
}

int main(void)
{
	char verdict[32];
	sigset_t chld;

	sigemptyset(&chld);
	sigaddset(&chld, SIGCHLD);
	sigprocmask(SIG_BLOCK, &chld, NULL);
	mount_all();
	open_console();
	read_conf();
	sethostname("hugemr", 6);

	load_modules();
	result_fd = open_port("hugemr.result");
	check_pages("2048kB", conf.pages_2m);
	check_pages("1048576kB", conf.pages_1g);
	network_up((unsigned int)conf.rxe);

	run_command(verdict, sizeof(verdict));
	send_artifacts();
	say("%s", verdict);
	dprintf(result_fd, "%s\n", verdict);
	power_off();
}
