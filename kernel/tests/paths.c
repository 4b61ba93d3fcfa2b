// Path look-ups of a guest below ROOT, a mount point: `paths ROOT depth`, `replay FILES OPENS`, `random SEED STEPS` or
// `race ROUNDS READERS`. What the kernel counted and what each access gave goes to standard output.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

enum { COUNTERS = 6 };
static const char *const counter_names[COUNTERS] = {
    "dcache_lookup", "dcache_slow_lookup", "backward_probe", "backward_hit", "backward_stale", "backward_add"};

static void fail(const char *what) {
    perror(what);
    exit(1);
}

static void must(int result, const char *what) {
    if (result) fail(what);
}

// user::7, user:1000:PERMISSIONS, group::5, mask::7, other::5.
static void list_acl(const char *path, uint16_t permissions) {
    struct { uint32_t version; struct { uint16_t tag, permissions; uint32_t id; } entries[5]; } list = {
        2, {{1, 7, -1}, {2, permissions, 1000}, {4, 5, -1}, {16, 7, -1}, {32, 5, -1}}};
    must(setxattr(path, "system.posix_acl_access", &list, sizeof(list), 0), "acl");
}

static uint64_t random_state;
static unsigned random_below(unsigned bound) {
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (random_state >> 20) % bound;
}

// Opened before the root changes.
static int vmstat_file, drop_file;

static void drop_caches(const char *which) {
    if (pwrite(drop_file, which, 1, 0) != 1) fail("drop_caches"); // Elsewhere than at 0 it is ignored.
}

static void read_counters(long counts[COUNTERS]) {
    static char text[32768];
    ssize_t length = 0, part;
    lseek(vmstat_file, 0, SEEK_SET);
    while ((part = read(vmstat_file, text + length, sizeof(text) - 1 - length)) > 0) length += part;
    text[length] = 0;
    memset(counts, 0, sizeof(long) * COUNTERS);
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
        for (int at = 0; at < COUNTERS; at++) {
            size_t name = strlen(counter_names[at]);
            if (!strncmp(line, counter_names[at], name) && line[name] == ' ') counts[at] = atol(line + name);
        }
}

static void print_counters(const long before[COUNTERS], const long after[COUNTERS]) {
    for (int at = 0; at < COUNTERS; at++) printf(" %s %ld", counter_names[at], after[at] - before[at]);
    printf("\n");
}

static long now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000L + now.tv_nsec;
}

static int compare_longs(const void *a, const void *b) {
    return (*(const long *)a > *(const long *)b) - (*(const long *)a < *(const long *)b);
}

// One batch of 1000; returns its nanoseconds.
static long run_batch(const char *operation, const char *path) {
    struct stat is;
    char byte[4096];
    long begin = now_ns();
    for (int at = 0; at < 1000; at++) {
        if (*operation == 's') {
            if (stat(path, &is)) fail(path);
            continue;
        }
        int file = open(path, O_RDONLY);
        if (file < 0) fail(path);
        if (*operation == 'r' && read(file, byte, sizeof(byte)) < 0) fail(path);
        close(file);
    }
    return now_ns() - begin;
}

static int measure_depths(void) {
    static const char *const operations[] = {"stat", "open", "read"};
    char directory[PATH_MAX] = "top", path[PATH_MAX + 8], block[4096] = {0};
    if (mkdir(directory, 0755)) fail(directory);
    for (int depth = 1; depth <= 10; depth++) {
        sprintf(path, "%s/file", directory);
        int file = open(path, O_CREAT | O_WRONLY, 0644);
        if (file < 0 || write(file, block, sizeof(block)) != sizeof(block)) fail(path);
        close(file);
        for (int at = 0; at < 3; at++) {
            long before[COUNTERS], after[COUNTERS], times[9];
            run_batch(operations[at], path);
            for (int batch = 0; batch < 9; batch++) times[batch] = run_batch(operations[at], path);
            qsort(times, 9, sizeof(long), compare_longs);
            read_counters(before);
            run_batch(operations[at], path);
            read_counters(after);
            printf("depth %d %s ns %ld", depth, operations[at], times[4] / 1000);
            print_counters(before, after);
        }
        sprintf(directory + strlen(directory), "/level-%d", depth);
        if (mkdir(directory, 0755)) fail(directory);
    }
    return 0;
}

// A tree of FILES files, 50 in each directory at a depth of 7 to 9, and OPENS of them; some directories far more often.
static int replay(int files, int opens) {
    char path[PATH_MAX];
    int directories = files / 50;
    for (int pass = 0; pass < 2; pass++) {
        long before[COUNTERS], after[COUNTERS];
        random_state = 88172645463325252ULL;
        read_counters(before);
        for (int at = 0; at < (pass ? opens : files); at++) {
            uint64_t skew = random_below(10000);
            int directory = pass ? (int)(skew * skew * skew / 1000000 * directories / 1000000) : at / 50;
            int length = sprintf(path, "archive/%d/%d", directory % 7, directory % 49);
            for (int level = 0; level < 4 + directory % 3; level++) length += sprintf(path + length, "/%d-%d", level, directory >> (8 - 2 * level));
            length += sprintf(path + length, "/d%d", directory);
            if (!pass && at % 50 == 0)
                for (char *slash = strchr(path, '/');; slash = strchr(slash + 1, '/')) {
                    if (slash) *slash = 0;
                    if (mkdir(path, 0755) && errno != EEXIST) fail(path);
                    if (!slash) break;
                    *slash = '/';
                }
            sprintf(path + length, "/f%d", pass ? (int)random_below(50) : at % 50);
            int file = open(path, pass ? O_RDONLY : O_CREAT | O_WRONLY, 0644);
            if (file < 0) fail(path);
            close(file);
        }
        read_counters(after);
        printf(pass ? "replay opens %d" : "create files %d", pass ? opens : files);
        print_counters(before, after);
        if (!pass) {
            sync();
            drop_caches("3");
        }
    }
    return 0;
}

// Random changes of a small tree and accesses to it by many users. Names repeat, so that paths meet what was there before.
#define OBJECTS 4096
#define UNKNOWN 9999999 // No error has this number.
static struct { dev_t device; ino_t inode; int is_used; } objects[OBJECTS];
static int object_count;

// The number that an object got when it was made: inode numbers differ from one kernel to the next.
static int serial(const struct stat *is) {
    for (int at = object_count - 1; at >= 0; at--)
        if (objects[at % OBJECTS].is_used && objects[at % OBJECTS].device == is->st_dev && objects[at % OBJECTS].inode == is->st_ino) return at;
        else if (at <= object_count - OBJECTS) break;
    return UNKNOWN;
}

static void note(const char *path) {
    struct stat is;
    if (lstat(path, &is)) return;
    int at = object_count++ % OBJECTS;
    objects[at].device = is.st_dev, objects[at].inode = is.st_ino, objects[at].is_used = 1;
}

// Mostly names that are there.
static void random_path(char *path, int links) {
    static const char *const separators[] = {"/", "/", "/", "/", "/", "//", "/./"};
    int depth = 1 + random_below(7);
    strcpy(path, random_below(3) ? "" : "/work/");
    for (int at = 0; at < depth; at++) {
        if (at) strcat(path, separators[links ? random_below(7) : 0]);
        char *end = path + strlen(path);
        if (links && random_below(24) == 0) strcpy(end, "..");
        else
            for (int attempt = 0; attempt < 4; attempt++) {
                struct stat is;
                sprintf(end, "%c", "abc"[random_below(3)]);
                if (!lstat(path, &is)) break;
            }
    }
    if (links && random_below(12) == 0) strcat(path, "/");
}

static int set_acl(const char *path) {
    // Version 2; user::, user:1000+, group::, mask, other.
    struct { uint32_t version; struct { uint16_t tag, permissions; uint32_t id; } entries[5]; } list = {2, {
        {1, random_below(8), -1}, {2, random_below(8), 1000 + random_below(3)}, {4, random_below(8), -1},
        {16, random_below(8), -1}, {32, random_below(8), -1}}};
    return random_below(4) ? setxattr(path, "system.posix_acl_access", &list, sizeof(list), 0)
                           : removexattr(path, "system.posix_acl_access");
}

static int make_directories(char *path, int mode) {
    int result = -1;
    for (char *slash = strchr(path + 1, '/'), *end = path + strlen(path); path < end; slash = strchr(slash + 1, '/')) {
        if (slash) *slash = 0;
        result = mkdir(path, mode);
        if (!result) note(path);
        if (!slash) break;
        *slash = '/';
    }
    return result;
}

static int make_change(void) {
    char path[256], other[256];
    int mode = random_below(4) ? 0711 : random_below(01000), result;
    random_path(path, 0);
    random_path(other, 0);
    errno = 0;
    switch (random_below(22)) {
    case 0: case 1: case 2: case 3: case 4: result = make_directories(path, mode); break;
    case 5: case 6: result = mknod(path, S_IFREG | mode, 0); if (!result) note(path); break;
    case 7: result = rmdir(path); break;
    case 8: result = unlink(path); break;
    case 9: case 10: result = rename(path, other); break;
    case 11: result = syscall(SYS_renameat2, AT_FDCWD, path, AT_FDCWD, other, 2 /* exchange */); break;
    case 12: case 13: result = chmod(path, mode); break;
    case 14: result = chown(path, 1000 + random_below(3), 100 + random_below(3)); break;
    case 15: case 16: case 17: result = set_acl(path); break;
    case 18: result = symlink(other, path); if (!result) note(path); break;
    case 19: result = mount(other, path, NULL, MS_BIND, NULL); break;
    case 20:
        result = random_below(2) ? umount2(path, MNT_DETACH) : mount("none", path, "tmpfs", 0, NULL);
        if (!result) note(path);
        break;
    default: result = random_below(3) ? chdir(random_below(3) ? "/work" : path)
                                      : mount("none", "/", NULL, MS_REMOUNT, random_below(2) ? "acl" : "noacl");
    }
    return result ? errno : 0;
}

// Accesses by one path as one of several users, each of which has to give what the first gave. Most were made before, so that
// they meet what has changed since.
static void access_path(long step) {
    static const gid_t groups[][2] = {{100, 101}, {101, 102}, {102, 100}};
    static struct { char path[256]; int user, group, from; } last[24];
    struct stat is;
    long first = 0;
    int at = step < 24 ? (int)step : (int)random_below(24);
    if (step < 24 || random_below(5) == 0) {
        random_path(last[at].path, 1);
        last[at].user = random_below(4), last[at].group = random_below(3), last[at].from = random_below(4);
    }
    const char *path = last[at].path;
    int user = last[at].user, group = last[at].group, directory = open(last[at].from ? "." : "a/b", O_PATH | O_DIRECTORY);
    if (setgroups(random_below(3), groups[group]) || (user && (setfsgid(100 + group), setfsuid(999 + user), 0))) fail("setgroups");
    for (int turn = 0; turn < 4; turn++) {
        int result = fstatat(directory, path, &is, 0) ? -errno : serial(&is);
        int file = openat(directory, path, O_PATH | O_NOFOLLOW);
        int opened = file < 0 ? -errno : fstat(file, &is) ? -errno : serial(&is);
        if (file >= 0) close(file);
        long value = result * 100000000L + opened;
        if (turn == 0) first = value;
        if (value != first) printf("step %ld turn %d: %s user %d gave %ld, then %ld\n", step, turn, path, user, first, value);
    }
    setfsuid(0), setfsgid(0);
    if (directory >= 0) close(directory);
    printf("%ld %s %d %d %ld\n", step, path, user, group, first);
}

// A list that a file system has not enforced for a while differs from the mode, and a chmod that changes no bit sets it right.
static void revive_acl(void) {
    struct stat is;
    if (mkdir("l", 0755) || mkdir("l/m", 0755) || mkdir("l/m/n", 0755) || mkdir("l/m/n/o", 0755)) fail("l");
    int held = open("l/m/n", O_PATH | O_DIRECTORY); // A remount drops the dentries that nobody holds.
    for (int step = 0; step < 8; step++) {
        int result = 0;
        switch (step) {
        case 0: list_acl("l/m", 7); break;
        case 1: case 4: result = mount("none", "/", NULL, MS_REMOUNT, "noacl"); break;
        case 2: case 6: result = chmod("l/m", 0750); break;
        case 3: case 5: result = mount("none", "/", NULL, MS_REMOUNT, "acl"); break;
        default: result = removexattr("l/m", "system.posix_acl_access");
        }
        printf("list %d %d:", step, result ? errno : 0);
        for (int user = 1000; user < 1003; user++) {
            setfsgid(user), setfsuid(user);
            for (int turn = 0; turn < 5; turn++) printf(" %d", stat("l/m/n/o", &is) ? errno : 0);
            setfsuid(0), setfsgid(0);
        }
        printf("\n");
    }
    close(held);
}

static int try_at_random(long seed, long steps) {
    if (setgroups(0, NULL)) fail("setgroups");
    note("/"), note("/work");
    revive_acl();
    random_state = 88172645463325252ULL + seed * 7919;
    for (int at = 0; at < 64; at++) random_below(2);
    for (long step = 0; step < steps; step++) {
        if (step % 500 == 0) drop_caches("2");
        if (random_below(3) == 0) printf("%ld change %d\n", step, make_change());
        access_path(step);
    }
    return 0;
}

// Changes and accesses at the same time. `state` is odd while something changes; an access that began and ended in one even state
// has to give what this state says.
#define READERS 8
static struct { atomic_long state, accesses[READERS], wrong; } *shared;

// What a/b/c/d/file gives user 0, 1000 and 1001 in each state: the size of one of two files, or an error.
static const int expected[16][3] = {
    {1, 1, 1}, {1, -EACCES, -EACCES}, {1, 1, 1}, {2, 2, 2}, {1, 1, 1}, {-ENOENT, -ENOENT, -ENOENT}, {1, 1, 1}, {2, 2, 2},
    {1, 1, 1}, {1, -EACCES, 1}, {1, 1, 1}, {1, 1, -EACCES}, {1, 1, 1}, {2, 2, 2}, {1, 1, 1}, {3, 3, 3}};

static void enter_state(int state) {
    switch (state) {
    case 0: must(umount2("a", MNT_DETACH), "umount"); break;
    case 1: must(chmod("a/b", 0700), "chmod"); break;
    case 2: must(chmod("a/b", 0755), "chmod"); break;
    case 3: case 4: must(syscall(SYS_renameat2, AT_FDCWD, "a", AT_FDCWD, "x", 2), "exchange"); break;
    case 5: must(rename("a/b", "a/z"), "rename"); break;
    case 6: must(rename("a/z", "a/b"), "rename"); break;
    case 7: must(mount("x/b", "a/b", NULL, MS_BIND, NULL), "bind"); break;
    case 8: must(umount2("a/b", MNT_DETACH), "umount"); break;
    case 9: list_acl("a/b/c", 0); break;
    case 10: must(removexattr("a/b/c", "system.posix_acl_access"), "acl"); break;
    case 11: must(chown("a/b/c", 1000, 0), "chown"); must(chmod("a/b/c", 0700), "chmod"); break;
    case 12: must(chown("a/b/c", 0, 0), "chown"); must(chmod("a/b/c", 0755), "chmod"); break;
    case 13: must(rename("a/b", "a/z"), "rename"); must(symlink("../x/b", "a/b"), "symlink"); break;
    case 14: must(unlink("a/b"), "unlink"); must(rename("a/z", "a/b"), "rename"); break;
    case 15: must(mount("y", "a", NULL, MS_BIND, NULL), "bind"); break;
    }
}

static void read_on(int reader) {
    static const char *const paths[] = {"a/b/c/d/file", "/work/a/b/c/d/file", "./a//b/c/d/file", "/work/x/../a/b/c/d/file"};
    int user = reader % 3;
    struct stat is;
    if (setgroups(0, NULL) || (user && (setfsgid(1000), setfsuid(999 + user), 0))) fail("setgroups");
    prctl(PR_SET_PDEATHSIG, SIGKILL); // Other credentials have cleared it.
    for (unsigned long at = reader;; at++) {
        long state = atomic_load(&shared->state);
        if (state & 1) continue;
        const char *path = paths[at / 16 % 4];
        int result = stat(path, &is) ? -errno : (int)is.st_size;
        if (atomic_load(&shared->state) != state) continue;
        if (result != expected[state / 2 % 16][user]) {
            printf("race: state %ld user %d %s gave %d\n", state / 2 % 16, user, path, result);
            fflush(stdout);
            atomic_fetch_add(&shared->wrong, 1);
        }
        atomic_fetch_add(&shared->accesses[reader], 1);
    }
}

// Ends with this process.
static pid_t fork_child(void) {
    pid_t child = fork();
    if (child < 0) fail("fork");
    if (!child) prctl(PR_SET_PDEATHSIG, SIGKILL);
    return child;
}

static int race(long rounds, int readers) {
    static const char *const roots[] = {"a", "x", "y"};
    char path[64];
    long before[COUNTERS], after[COUNTERS], total = 0;
    pid_t children[READERS + 2];
    int count = 0;
    for (int at = 0; at < 3; at++) {
        sprintf(path, "%s", roots[at]);
        for (int level = 0; level < 4; level++) {
            must(mkdir(path, 0755), path);
            sprintf(path + strlen(path), "/%c", 'b' + level);
        }
        sprintf(path, "%s/b/c/d", roots[at]);
        if (mkdir(path, 0755) && errno != EEXIST) fail(path);
        strcat(path, "/file");
        must(mknod(path, S_IFREG | 0644, 0) || truncate(path, at + 1), path);
    }
    must(mkdir("other", 0755) || mkdir("other/x", 0755) || mkdir("other/x/y", 0755) || mkdir("other/x/y/z", 0755), "other");
    shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    fflush(stdout);
    read_counters(before);
    for (int reader = 0; reader < readers; reader++)
        if (!(children[count++] = fork_child())) read_on(reader);
    // Changes elsewhere, and dentries that go.
    if (!(children[count++] = fork_child()))
        for (unsigned at = 0;; at++) {
            struct stat is;
            must(stat(at % 2 ? "moved/x/y/z" : "other/x/y/z", &is), "other");
            must(chmod(at % 2 ? "moved/x" : "other/x", at % 4 < 2 ? 0700 : 0755), "chmod");
            must(rename(at % 2 ? "moved" : "other", at % 2 ? "other" : "moved"), "rename");
            if (at % 256 == 0) drop_caches("2");
        }
    for (long step = 1; step <= rounds * 16; step++) {
        long begin[READERS];
        atomic_fetch_add(&shared->state, 1);
        enter_state(step % 16);
        atomic_fetch_add(&shared->state, 1);
        for (int reader = 0; reader < readers; reader++) begin[reader] = atomic_load(&shared->accesses[reader]);
        for (int reader = 0; reader < readers; reader++)
            while (atomic_load(&shared->accesses[reader]) < begin[reader] + 40) {
                if (waitpid(-1, NULL, WNOHANG) > 0) fail("a process of the race has ended");
                sched_yield();
            }
    }
    for (int at = 0; at < count; at++) kill(children[at], SIGKILL), waitpid(children[at], NULL, 0);
    read_counters(after);
    for (int reader = 0; reader < readers; reader++) total += atomic_load(&shared->accesses[reader]);
    printf("race rounds %ld accesses %ld wrong %ld", rounds, total, atomic_load(&shared->wrong));
    print_counters(before, after);
    return atomic_load(&shared->wrong) != 0;
}

static void enter(const char *root) {
    vmstat_file = open("/proc/vmstat", O_RDONLY);
    drop_file = open("/proc/sys/vm/drop_caches", O_WRONLY);
    if (vmstat_file < 0 || drop_file < 0) fail("/proc");
    drop_caches("4"); // Without a message each time.
    if (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL)) fail("namespace");
    if (chroot(root) || mkdir("/work", 0755) || chdir("/work")) fail(root);
}

int main(int count, char **arguments) {
    setvbuf(stdout, NULL, _IOFBF, 1 << 16);
    umask(0);
    if (count == 3 || count == 5) enter(arguments[1]);
    if (count == 3 && !strcmp(arguments[2], "depth")) return measure_depths();
    if (count == 5 && !strcmp(arguments[2], "replay")) return replay(atoi(arguments[3]), atoi(arguments[4]));
    if (count == 5 && !strcmp(arguments[2], "random")) return try_at_random(atol(arguments[3]), atol(arguments[4]));
    if (count == 5 && !strcmp(arguments[2], "race") && atoi(arguments[4]) <= READERS) return race(atol(arguments[3]), atoi(arguments[4]));
    fprintf(stderr, "usage: paths ROOT depth | replay FILES OPENS | random SEED STEPS | race ROUNDS READERS\n");
    return 2;
}
