// Slots for byte strings, in chunks of memory whose contents can move into files.
//
// A chunk has slots of one size: that of its strings, or, for strings of varied sizes, one of four sizes for each power of
// two. Such a slot is a tenth larger than its string on average, and begins with the size of the string. A chunk is
// anonymous memory while slots are taken from it. A full one is written to a file without a name, and the file is mapped
// over the same addresses, privately and read-only (mapped_file.hpp): pointers into it stay valid, the kernel can drop its
// pages, and nothing has to be closed, since the file ends with its last mapping. A chunk of which half is free is made
// writable again; what is then written to it is anonymous memory until it is written to a file anew.
//
// Invariants: the bytes of a slot change only between `give_back` and the next `take`. A chunk in the state Mapped has
// not been written to since its file was mapped, so that its pages may be dropped. A process that forks shares no
// writable page with its child.
//
// The caller holds a lock (the interpreter's) for every call but `write_out`.

#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <new>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "mapped_file.hpp"

namespace vectors {

enum class State : std::uint8_t { Open, Full, Writing, Mapped };

struct Pool;

struct Chunk {
    std::uint64_t number;
    char *data;
    Pool *pool;
    bool varied;
    std::size_t bytes, size, stride;  // of the chunk, of a string (at most, if varied), from one slot to the next
    std::uint32_t slots, live = 0, first_word = 0;  // no word of `used` before the first has a free slot
    State state = State::Open;
    bool taken_from = true;  // since the last spill
    bool read = false;       // since its pages were dropped, where they are bounded
    std::vector<std::uint64_t> used;
};

struct Older {
    bool operator()(const Chunk *a, const Chunk *b) const { return a->number < b->number; }
};

// The chunks with slots of one size.
struct Pool {
    std::set<Chunk *, Older> open;
    std::size_t bytes = 0;  // of all its chunks
};

struct Statistics {
    std::size_t live_bytes = 0, anonymous_bytes = 0, mapped_bytes = 0, chunks = 0;
};

class Arena {
    static constexpr std::size_t kPrefix = sizeof(std::uint32_t);  // the size of a string in a slot for varied ones

 public:
    static constexpr std::size_t kMostVaried = (std::size_t{1} << 16) - kPrefix;

    // Returns a slot for a string of `size` bytes, at least 1. Throws std::bad_alloc. Cost: O(1).
    char *take(std::size_t size, Chunk *&from) { return take(pools_[size], size, false, from); }

    // Returns a slot for a string of one of many sizes, from 1 to kMostVaried, which `size_of` returns afterwards.
    char *take_varied(std::size_t size, Chunk *&from) {
        const std::size_t slot = rounded(size + kPrefix);
        char *data = take(varied_[slot], slot - kPrefix, true, from) + kPrefix;
        const auto prefix = static_cast<Prefix>(size);
        std::memcpy(data - kPrefix, &prefix, kPrefix);
        return data;
    }

    static std::size_t size_of(const Chunk &chunk, const char *data) {
        if (!chunk.varied) return chunk.size;
        Prefix size;
        std::memcpy(&size, data - kPrefix, kPrefix);
        return size;
    }

    // Frees a slot. The memory is not touched: it may be in a file.
    void give_back(Chunk &chunk, const char *data) {
        const auto slot = static_cast<std::uint32_t>((data - chunk.data) / chunk.stride);
        chunk.used[slot / 64] &= ~(std::uint64_t{1} << (slot % 64));
        chunk.first_word = std::min(chunk.first_word, slot / 64);
        --chunk.live;
        if (chunk.state != State::Writing) settle(chunk);
    }

    // Returns the chunks to write: full ones, and nearly full ones that no slot was taken from since the last call. Each
    // must be passed to `written` afterwards.
    std::vector<Chunk *> begin_spill() {
        std::vector<Chunk *> due;
        for (const auto &[number, chunk] : chunks_) {
            const bool resting = chunk->state == State::Open && !chunk->taken_from && 4 * chunk->live >= 3 * chunk->slots;
            chunk->taken_from = false;
            if (!resting && chunk->state != State::Full) continue;
            chunk->pool->open.erase(chunk);
            chunk->state = State::Writing;
            due.push_back(chunk);
        }
        return due;
    }

    // Writes a chunk of `begin_spill` to a file and maps it. Returns 0 or an errno, and then the chunk is as before. Needs
    // no lock: other threads may read the chunk meanwhile, and nobody writes to it.
    static int write_out(const Chunk &chunk, const std::string &folder, std::uint64_t min_free) {
        return replace_by_file(chunk.data, chunk.bytes, folder, min_free);
    }

    // Ends the spill of a chunk, with the result of `write_out`.
    void written(Chunk &chunk, bool mapped) {
        chunk.state = mapped ? State::Mapped : State::Full;
        if (chunk.live < chunk.slots) settle(chunk);
    }

    // Drops the pages of mapped chunks from resident memory; a later access maps them again. It continues where the last
    // call ended, with the first chunk after the last one, and ends once it has `most` bytes. Returns the bytes.
    std::size_t release(std::size_t most) {
        std::size_t bytes = 0;
        auto next = chunks_.upper_bound(released_);
        for (std::size_t left = chunks_.size(); left && bytes < most; --left, ++next) {
            if (next == chunks_.end()) next = chunks_.begin();
            const Chunk &chunk = *next->second;
            if (chunk.state == State::Mapped && madvise(chunk.data, chunk.bytes, MADV_DONTNEED) == 0) bytes += chunk.bytes;
            released_ = chunk.number;
        }
        return bytes;
    }

    // Bounds the resident pages of mapped chunks: those that were read are dropped whenever reads may have mapped `bytes`.
    // 0 is no bound.
    void bound_reads(std::size_t bytes) {
        bound_ = bytes;
        if (!bound_) forget_reads();
    }

    // Counts a read of a slot, of which each may map kPage around it. Cost: O(1), amortised.
    void count_read(Chunk &chunk) {
        if (!bound_ || chunk.state != State::Mapped) return;
        if (!chunk.read) {
            chunk.read = true;
            read_.push_back(&chunk);
        }
        mapped_by_reads_ += chunk.bytes < kHugePage ? kPage : kHugePage;
        if (mapped_by_reads_ < bound_) return;
        for (const Chunk *each : read_)
            if (each->state == State::Mapped) madvise(each->data, each->bytes, MADV_DONTNEED);
        forget_reads();
    }

    Statistics statistics() const {
        Statistics found;
        found.chunks = chunks_.size();
        for (const auto &[number, chunk] : chunks_) {
            found.live_bytes += chunk->live * chunk->size;
            (chunk->state == State::Mapped ? found.mapped_bytes : found.anonymous_bytes) += chunk->bytes;
        }
        return found;
    }

 private:
    using Prefix = std::uint32_t;

    static constexpr std::size_t kSmall = std::size_t{1} << 20, kSmallVaried = std::size_t{1} << 17;
    static constexpr std::size_t kLargest = std::size_t{1} << 24;
    static constexpr std::size_t kPage = std::size_t{1} << 16;  // the largest page size of a supported machine
    static constexpr std::size_t kHugePage = std::size_t{1} << 21;  // what a read of a larger file may map
    static constexpr std::uint32_t kLeastSlots = 16;

    // The least of four sizes for each power of two, from 32 on, that is at least as large.
    static std::size_t rounded(std::size_t size) {
        std::size_t power = 32;
        while (2 * power <= size) power *= 2;
        const std::size_t step = power / 4;
        return std::max(power, (size + step - 1) / step * step);
    }

    char *take(Pool &pool, std::size_t size, bool varied, Chunk *&from) {
        if (pool.open.empty()) pool.open.insert(add_chunk(pool, size, varied));
        Chunk &chunk = **pool.open.begin();  // the oldest, so that the newest ones become empty
        const std::uint32_t slot = free_slot(chunk);
        chunk.used[slot / 64] |= std::uint64_t{1} << (slot % 64);
        chunk.taken_from = true;
        if (++chunk.live == chunk.slots) {
            chunk.state = State::Full;
            pool.open.erase(pool.open.begin());
        }
        from = &chunk;
        return chunk.data + slot * chunk.stride;
    }

    // 1 MiB, since a read of a file of 2 MiB may map all of it; in a process with 8 GiB or more a part of 8,192 of all
    // chunks, at most 16 MiB: the system bounds the number of mappings of a process (65,530). For varied sizes a
    // sixteenth of the pool's until that is 1 MiB, since there are some twenty, and each has a chunk that is not full.
    std::size_t chunk_bytes(const Pool &pool, std::size_t stride, bool varied) const {
        std::size_t bytes = least_bytes(varied);
        while (bytes < kSmall && bytes * 32 <= pool.bytes) bytes *= 2;
        while (bytes >= kSmall && bytes < kLargest && bytes * 8'192 <= bytes_) bytes *= 2;
        return std::max(bytes, (kLeastSlots * stride + kPage - 1) / kPage * kPage);
    }

    static std::size_t least_bytes(bool varied) { return varied ? kSmallVaried : kSmall; }

    Chunk *add_chunk(Pool &pool, std::size_t size, bool varied) {
        const std::size_t stride = ((varied ? size + kPrefix : size) + 7) / 8 * 8;
        const std::size_t bytes = chunk_bytes(pool, stride, varied);
        void *data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (data == MAP_FAILED) throw std::bad_alloc();
        const auto slots = static_cast<std::uint32_t>(bytes / stride);
        auto *chunk = new Chunk{next_++, static_cast<char *>(data), &pool, varied, bytes, size, stride, slots};
        chunk->used.resize((chunk->slots + 63) / 64);
        const std::uint32_t tail = chunk->slots % 64;
        if (tail) chunk->used.back() = ~std::uint64_t{0} << tail;  // no slots
        chunks_.emplace(chunk->number, chunk);
        bytes_ += bytes;
        pool.bytes += bytes;
        return chunk;
    }

    static std::uint32_t free_slot(Chunk &chunk) {
        while (chunk.used[chunk.first_word] == ~std::uint64_t{0}) ++chunk.first_word;
        return 64 * chunk.first_word + static_cast<std::uint32_t>(__builtin_ctzll(~chunk.used[chunk.first_word]));
    }

    // Brings a chunk with a free slot into the state that fits its contents.
    void settle(Chunk &chunk) {
        std::set<Chunk *, Older> &open = chunk.pool->open;
        if (chunk.state == State::Mapped && chunk.live && 2 * chunk.live <= chunk.slots &&
            mprotect(chunk.data, chunk.bytes, PROT_READ | PROT_WRITE) == 0)
            chunk.state = State::Full;
        if (chunk.state == State::Full) {
            chunk.state = State::Open;
            open.insert(&chunk);
        }
        const bool spare = chunk.state == State::Open && open.size() == 1 && chunk.bytes == least_bytes(chunk.varied);
        if (chunk.live == 0 && !spare) drop(chunk);
    }

    void forget_reads() {
        for (Chunk *chunk : read_) chunk->read = false;
        read_.clear();
        mapped_by_reads_ = 0;
    }

    void drop(Chunk &chunk) {
        if (chunk.read) read_.erase(std::find(read_.begin(), read_.end(), &chunk));
        chunk.pool->open.erase(&chunk);
        munmap(chunk.data, chunk.bytes);
        bytes_ -= chunk.bytes;
        chunk.pool->bytes -= chunk.bytes;
        chunks_.erase(chunk.number);
        delete &chunk;
    }

    // Their pools keep their addresses, which chunks hold.
    std::unordered_map<std::size_t, Pool> pools_;   // by the size of the strings
    std::unordered_map<std::size_t, Pool> varied_;  // by the size of the slots
    std::map<std::uint64_t, Chunk *> chunks_;
    std::uint64_t next_ = 0;
    std::uint64_t released_ = 0;  // the chunk whose pages were dropped last
    std::size_t bytes_ = 0;
    std::vector<Chunk *> read_;  // the chunks that were read since the last drop
    std::size_t mapped_by_reads_ = 0, bound_ = 0;
};

}  // namespace vectors
