/* Lets user-mode-linux run on processors with tiles (AMX) and whatever comes after them.
 *
 * Linux sets the extended state of a traced process only as a whole. User-mode-linux hands it 2696 bytes, which was the
 * whole up to AVX-512; on newer processors the call fails with EFAULT and the first process of the guest dies. What lies
 * beyond those bytes is kept as the process has it. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/types.h>
#include <sys/uio.h>

static unsigned char state[1 << 16];

typedef long (*tracer)(enum __ptrace_request, pid_t, void *, void *);

static long set_state(tracer trace, pid_t process, void *kind, const struct iovec *given)
{
    struct iovec whole = {state, sizeof state};
    if (trace(PTRACE_GETREGSET, process, kind, &whole) == -1)
        return -1;
    memcpy(state, given->iov_base, given->iov_len < whole.iov_len ? given->iov_len : whole.iov_len);
    return trace(PTRACE_SETREGSET, process, kind, &whole);
}

long ptrace(enum __ptrace_request request, ...)
{
    va_list arguments;
    va_start(arguments, request);
    pid_t process = va_arg(arguments, pid_t);
    void *address = va_arg(arguments, void *);
    void *data = va_arg(arguments, void *);
    va_end(arguments);
    tracer trace = (tracer)dlsym(RTLD_NEXT, "ptrace");
    if (request == PTRACE_SETREGSET && address == (void *)NT_X86_XSTATE)
        return set_state(trace, process, address, data);
    return trace(request, process, address, data);
}
