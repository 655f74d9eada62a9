/*
 * A library for LD_PRELOAD. While the file HOLD_WHILE exists, calls that write to or
 * flush a file don't return if the path of the file contains HOLD_PATH. When a process
 * gets killed, its children are killed too.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

/* These must be copies, because Postgres overwrites its environment with its title. */
static char *path_part, *while_file;

static int (*real_fsync)(int);
static int (*real_fdatasync)(int);
static ssize_t (*real_pwrite)(int, const void *, size_t, off_t);
static ssize_t (*real_pwrite64)(int, const void *, size_t, off64_t);
static ssize_t (*real_pwritev)(int, const struct iovec *, int, off_t);
static ssize_t (*real_pwritev64)(int, const struct iovec *, int, off64_t);

static char *variable(const char *name)
{
	const char *value = getenv(name);
	return value ? strdup(value) : NULL;
}

/*
 * If a machine crashes, all processes of Postgres are gone. With kill -9 of the first
 * one, however, the others would keep waiting for a lock held by a writer, or write
 * what was held back.
 */
static void die_with_parent(void)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
}

__attribute__((constructor)) static void start(void)
{
	path_part = variable("HOLD_PATH");
	while_file = variable("HOLD_WHILE");
	pthread_atfork(NULL, NULL, die_with_parent);
	real_fsync = dlsym(RTLD_NEXT, "fsync");
	real_fdatasync = dlsym(RTLD_NEXT, "fdatasync");
	real_pwrite = dlsym(RTLD_NEXT, "pwrite");
	real_pwrite64 = dlsym(RTLD_NEXT, "pwrite64");
	real_pwritev = dlsym(RTLD_NEXT, "pwritev");
	real_pwritev64 = dlsym(RTLD_NEXT, "pwritev64");
}

static void hold(int fd)
{
	char link[64], path[4096];
	ssize_t n;

	if (!path_part || !while_file || access(while_file, F_OK) != 0)
		return;
	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof path - 1);
	if (n < 0)
		return;
	path[n] = 0;
	if (!strstr(path, path_part))
		return;
	while (access(while_file, F_OK) == 0)
		usleep(2000);
}

int fsync(int fd)
{
	hold(fd);
	return real_fsync(fd);
}

int fdatasync(int fd)
{
	hold(fd);
	return real_fdatasync(fd);
}

ssize_t pwrite(int fd, const void *data, size_t size, off_t at)
{
	hold(fd);
	return real_pwrite(fd, data, size, at);
}

ssize_t pwrite64(int fd, const void *data, size_t size, off64_t at)
{
	hold(fd);
	return real_pwrite64(fd, data, size, at);
}

ssize_t pwritev(int fd, const struct iovec *data, int count, off_t at)
{
	hold(fd);
	return real_pwritev(fd, data, count, at);
}

ssize_t pwritev64(int fd, const struct iovec *data, int count, off64_t at)
{
	hold(fd);
	return real_pwritev64(fd, data, count, at);
}
