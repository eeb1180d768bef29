/* A wall clock that can be wrong.
 *
 * Preloaded into a Redis server or a worker, this library answers every call for the wall clock
 * with the kernel's time plus an offset, which it reads from a memory-mapped file each time.
 * Writing to the file shifts the clock while the program runs.
 *
 * The library deliberately does not use libc. It calls the kernel directly and needs no other
 * library, so the same file loads into glibc and musl programs, and it can be called while an
 * allocator is still initialising itself. Monotonic clocks are not changed. The library has no
 * effect on static programs and on programs that call the kernel themselves (Go).
 *
 * The file contains three 64-bit numbers in the machine's byte order. The first selects which of
 * the other two is the offset in nanoseconds. A writer fills the one that is not in use, and then
 * changes the lowest byte of the first, so no reader ever sees half an offset. */

#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>

#define VARIABLE "PICKLOCK_WALL_CLOCK="
#define FILE_BYTES 24
#define SECOND_NS 1000000000L

/* Defined by the program's libc. Weak, so that this library need not link to any libc. */
extern char **environ __attribute__((weak));
extern int *__errno_location(void) __attribute__((weak));

#if defined(__x86_64__)
static long call(long number, long a, long b, long c, long d, long e, long f)
{
    long result;
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
}
#elif defined(__aarch64__)
static long call(long number, long a, long b, long c, long d, long e, long f)
{
    register long x8 __asm__("x8") = number;
    register long x0 __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    register long x3 __asm__("x3") = d;
    register long x4 __asm__("x4") = e;
    register long x5 __asm__("x5") = f;
    __asm__ volatile("svc 0"
                     : "+r"(x0)
                     : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
                     : "memory");
    return x0;
}
#else
#error "no system calls for this architecture"
#endif

/* Returns a result as libc does: -1 for an error, with the reason in errno. */
static int answer(long result)
{
    if (result >= 0)
        return 0;
    if (__errno_location)
        *__errno_location() = (int)-result;
    return -1;
}

static const char *file_path(void)
{
    if (!&environ || !environ)
        return NULL;
    for (char **entry = environ; *entry; entry++) {
        const char *name = VARIABLE;
        const char *text = *entry;
        while (*name && *name == *text) {
            name++;
            text++;
        }
        if (!*name)
            return text;
    }
    return NULL;
}

/* Used if there is no file: the clock is then correct. */
static const int64_t no_offset[3] = {0, 0, 0};

static const int64_t *map_file(const char *path)
{
    long file = call(SYS_openat, AT_FDCWD, (long)path, O_RDONLY | O_CLOEXEC, 0, 0, 0);
    if (file < 0)
        return no_offset;
    long mapped = call(SYS_mmap, 0, FILE_BYTES, PROT_READ, MAP_SHARED, file, 0);
    call(SYS_close, file, 0, 0, 0, 0, 0);
    /* The kernel returns errors as the last page of addresses. */
    if (mapped < 0 && mapped > -4096)
        return no_offset;
    return (const int64_t *)mapped;
}

static int64_t offset_ns(void)
{
    static const int64_t *known;
    const int64_t *file = __atomic_load_n(&known, __ATOMIC_ACQUIRE);
    if (!file) {
        /* Before libc has set up the environment, the path is unknown: try again later. Two
         * threads may both map the file; the second mapping is as good as the first. */
        const char *path = file_path();
        if (!path)
            return 0;
        file = map_file(path);
        __atomic_store_n(&known, file, __ATOMIC_RELEASE);
    }
    int64_t which = __atomic_load_n(&file[0], __ATOMIC_ACQUIRE);
    return __atomic_load_n(&file[1 + (which & 1)], __ATOMIC_ACQUIRE);
}

static long wall_clock(clockid_t clock, struct timespec *now)
{
    long result = call(SYS_clock_gettime, clock, (long)now, 0, 0, 0, 0);
    if (result < 0)
        return result;
    int64_t offset = offset_ns();
    int64_t seconds = offset / SECOND_NS;
    long nanoseconds = now->tv_nsec + (long)(offset % SECOND_NS);
    if (nanoseconds < 0) {
        nanoseconds += SECOND_NS;
        seconds -= 1;
    } else if (nanoseconds >= SECOND_NS) {
        nanoseconds -= SECOND_NS;
        seconds += 1;
    }
    now->tv_sec += seconds;
    now->tv_nsec = nanoseconds;
    return result;
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
    if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)
        return answer(wall_clock(clock, now));
    return answer(call(SYS_clock_gettime, clock, (long)now, 0, 0, 0, 0));
}

/* The headers declare that the pointer is never null, but libc accepts a null pointer. With
 * another name here, the compiler does not rely on that declaration. */
int time_of_day(struct timeval *now, void *zone) __asm__("gettimeofday");

int time_of_day(struct timeval *now, void *zone)
{
    struct timespec precise;
    /* The kernel's time zone is obsolete, but a program may still read it. */
    if (zone) {
        long result = call(SYS_gettimeofday, 0, (long)zone, 0, 0, 0, 0);
        if (result < 0)
            return answer(result);
    }
    if (!now)
        return 0;
    long result = wall_clock(CLOCK_REALTIME, &precise);
    if (result < 0)
        return answer(result);
    now->tv_sec = precise.tv_sec;
    now->tv_usec = precise.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *now)
{
    struct timespec precise;
    long result = wall_clock(CLOCK_REALTIME, &precise);
    if (result < 0)
        return answer(result);
    if (now)
        *now = precise.tv_sec;
    return precise.tv_sec;
}
