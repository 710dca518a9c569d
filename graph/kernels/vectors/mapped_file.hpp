// The replacement of anonymous memory by a private mapping of a file without a name, which has the same contents.
//
// The file is written and flushed before it is mapped: a full disk is an error of `write`, and not a signal at some later
// access, and the kernel can drop every page at once. It has no name, so no end of the process leaves it behind. Where
// the file system cannot create one without a name, it has one until the next system call.

#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#ifdef __linux__
#include <sys/vfs.h>
#endif

namespace vectors {

#ifdef __linux__

// Whether the files of a file system are memory themselves.
inline bool in_memory(int fd) {
    struct statfs found;
    return fstatfs(fd, &found) == 0 && (found.f_type == 0x01021994 /* tmpfs */ || found.f_type == 0x858458f6 /* ramfs */);
}

// Returns a descriptor, or minus an errno.
inline int open_file(const std::string &folder) {
    int fd = open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL)) {
        std::string name = folder + "/.graphtide-vectors-XXXXXX";
        fd = mkostemp(name.data(), O_CLOEXEC);
        if (fd >= 0) unlink(name.c_str());
    }
    return fd < 0 ? -errno : fd;
}

// Returns 0 if files of the folder are on a disk, else an errno: EOPNOTSUPP for a folder in memory.
inline int probe(const std::string &folder) {
    const int fd = open_file(folder);
    if (fd < 0) return -fd;
    const int error = in_memory(fd) ? EOPNOTSUPP : 0;
    close(fd);
    return error;
}

inline int write_all(int fd, const char *data, std::size_t bytes) {
    while (bytes) {
        const ssize_t done = write(fd, data, bytes);
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0) return done ? errno : EIO;
        data += done;
        bytes -= static_cast<std::size_t>(done);
    }
    return fdatasync(fd) == 0 ? 0 : errno;
}

inline std::uint64_t free_bytes(int fd) {
    struct statvfs found;
    return fstatvfs(fd, &found) == 0 ? static_cast<std::uint64_t>(found.f_bavail) * found.f_frsize : 0;
}

// Replaces whole pages at `data`; returns 0 or an errno, and then they are as before. ENOSPC, too, where less than
// `min_free` bytes of the file system would remain.
inline int replace_by_file(char *data, std::size_t bytes, const std::string &folder, std::uint64_t min_free) {
    const int fd = open_file(folder);
    if (fd < 0) return -fd;
    int error = min_free && free_bytes(fd) < min_free + bytes ? ENOSPC : write_all(fd, data, bytes);
    // The kernel checks its limits before it removes the old mapping, and replaces it in one step for other threads.
    if (!error && mmap(data, bytes, PROT_READ, MAP_PRIVATE | MAP_FIXED, fd, 0) == MAP_FAILED) error = errno;
    close(fd);
    return error;
}

#else

inline int probe(const std::string &) { return EOPNOTSUPP; }
inline int replace_by_file(char *, std::size_t, const std::string &, std::uint64_t) { return EOPNOTSUPP; }

#endif

}  // namespace vectors
