// Counts by pair of numbers, in one array of 16 bytes a slot: open addressing with linear probing.
//
// Invariant: as in number_slots.hpp, so a search that finds none ends early. Load: 70 to 87.5 % while the table grows.

#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>
#include <vector>

namespace {

struct PairCount {
    std::uint32_t u;
    std::uint32_t v;
    std::int64_t count;  // 0 in an empty slot
};

class PairSlots {
  public:
    std::size_t size() const { return count_; }
    std::size_t bytes() const { return slots_.capacity() * sizeof(PairCount); }

    std::int64_t get(std::uint32_t u, std::uint32_t v) const {
        const std::size_t at = find(u, v);
        return at == NONE ? 0 : slots_[at].count;
    }

    // Set the count of a pair; 0 removes it. Cost: amortised O(1). Throws std::bad_alloc, and changes nothing, if there
    // is no memory.
    void set(std::uint32_t u, std::uint32_t v, std::int64_t count) {
        const std::size_t at = find(u, v);
        if (at != NONE) {
            count ? void(slots_[at].count = count) : remove(at);
        } else if (count) {
            if ((count_ + 1) * 8 > slots_.size() * 7) resize(count_ + count_ / 4 + 8);
            insert({u, v, count});
        }
    }

    // Call `visit(entry)` for each entry, in no order.
    template <typename Visit>
    void each(Visit visit) const {
        for (const PairCount& slot : slots_)
            if (slot.count) visit(slot);
    }

  private:
    static constexpr std::size_t NONE = SIZE_MAX;

    // The 64 bits are mixed as in MurmurHash3 (Appleby), because pairs of numbers are dense.
    std::size_t home(std::uint32_t u, std::uint32_t v) const {
        std::uint64_t key = std::uint64_t{u} << 32 | v;
        key = (key ^ key >> 33) * 0xFF51AFD7ED558CCD;
        key = (key ^ key >> 33) * 0xC4CEB9FE1A85EC53;
        return (key >> 32) * slots_.size() >> 32;
    }
    std::size_t after(std::size_t at) const { return at + 1 == slots_.size() ? 0 : at + 1; }
    std::size_t distance_of(std::size_t at) const {
        const std::size_t from = home(slots_[at].u, slots_[at].v);
        return at >= from ? at - from : at + slots_.size() - from;
    }

    std::size_t find(std::uint32_t u, std::uint32_t v) const {
        if (!count_) return NONE;
        std::size_t at = home(u, v);
        for (std::size_t distance = 0; slots_[at].count; ++distance, at = after(at)) {
            if (slots_[at].u == u && slots_[at].v == v) return at;
            if (distance_of(at) < distance) return NONE;
        }
        return NONE;
    }

    void insert(PairCount slot) {
        std::size_t at = home(slot.u, slot.v);
        for (std::size_t distance = 0; slots_[at].count; ++distance, at = after(at)) {
            const std::size_t other = distance_of(at);
            if (other < distance) {
                std::swap(slots_[at], slot);
                distance = other;
            }
        }
        slots_[at] = slot;
        ++count_;
    }

    void remove(std::size_t at) {
        for (std::size_t next = after(at); slots_[next].count && distance_of(next); next = after(at)) {
            slots_[at] = slots_[next];
            at = next;
        }
        slots_[at].count = 0;
        --count_;
        if (slots_.size() > 64 && count_ < slots_.size() / 4) {
            try {
                resize(count_ + count_ / 2 + 8);
            } catch (const std::bad_alloc&) {  // the larger array stays
            }
        }
    }

    void resize(std::size_t wanted) {
        std::vector<PairCount> old(wanted + wanted / 7 + 1, PairCount{0, 0, 0});
        old.swap(slots_);
        count_ = 0;
        for (const PairCount& slot : old)
            if (slot.count) insert(slot);
    }

    std::vector<PairCount> slots_;
    std::size_t count_ = 0;
};

}  // namespace
