// Numbers by 32 bits of hash, in one array of 8 bytes a slot: open addressing with linear probing.
//
// Invariant (Robin Hood hashing, Celis 1986): along a run of full slots, the distance of an entry from its home is at
// most one more than that of the entry before it, so entries are in the order of their homes, and a search that finds
// none ends after the entries of its own home. Equal hashes are allowed. Load: 70 to 87.5 % while the table grows.

#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>
#include <vector>

namespace {

struct Slot {
    std::uint32_t hash;
    std::uint32_t number;
};

class NumberSlots {
  public:
    static constexpr std::uint32_t EMPTY = 0xFFFFFFFF;  // no number

    std::size_t size() const { return count_; }
    std::size_t bytes() const { return slots_.capacity() * sizeof(Slot); }

    // Call `visit(number)` for the numbers of a hash until it returns true, and return whether it did. It must not
    // change the slots.
    template <typename Visit>
    bool any(std::uint32_t hash, Visit visit) const {
        if (!count_) return false;
        std::size_t at = home(hash);
        for (std::size_t distance = 0; slots_[at].number != EMPTY; ++distance, at = after(at)) {
            if (slots_[at].hash == hash) {
                if (visit(slots_[at].number)) return true;
            } else if (distance_of(at) < distance) {
                return false;
            }
        }
        return false;
    }

    template <typename Visit>
    void each(Visit visit) const {
        for (const Slot& slot : slots_)
            if (slot.number != EMPTY) visit(slot.number);
    }

    // Cost: amortised O(1). Throws std::bad_alloc, and changes nothing, if there is no memory.
    void add(std::uint32_t hash, std::uint32_t number) {
        if ((count_ + 1) * 8 > slots_.size() * 7) resize(count_ + count_ / 4 + 8);
        insert({hash, number});
    }

    // Remove one entry and return whether there was one.
    bool remove(std::uint32_t hash, std::uint32_t number) {
        if (!count_) return false;
        std::size_t at = home(hash);
        for (std::size_t distance = 0; slots_[at].hash != hash || slots_[at].number != number;
             ++distance, at = after(at)) {
            if (slots_[at].number == EMPTY || distance_of(at) < distance) return false;
        }
        for (std::size_t next = after(at); slots_[next].number != EMPTY && distance_of(next); next = after(at)) {
            slots_[at] = slots_[next];
            at = next;
        }
        slots_[at].number = EMPTY;
        --count_;
        if (slots_.size() > 64 && count_ < slots_.size() / 4) {
            try {
                resize(count_ + count_ / 2 + 8);
            } catch (const std::bad_alloc&) {  // the larger array stays
            }
        }
        return true;
    }

  private:
    std::size_t home(std::uint32_t hash) const { return std::uint64_t{hash} * slots_.size() >> 32; }
    std::size_t after(std::size_t at) const { return at + 1 == slots_.size() ? 0 : at + 1; }
    std::size_t distance_of(std::size_t at) const {
        const std::size_t from = home(slots_[at].hash);
        return at >= from ? at - from : at + slots_.size() - from;
    }

    void insert(Slot slot) {
        std::size_t at = home(slot.hash);
        for (std::size_t distance = 0; slots_[at].number != EMPTY; ++distance, at = after(at)) {
            const std::size_t other = distance_of(at);
            if (other < distance) {
                std::swap(slots_[at], slot);
                distance = other;
            }
        }
        slots_[at] = slot;
        ++count_;
    }

    void resize(std::size_t wanted) {
        const std::size_t capacity = wanted + wanted / 7 + 1;
        std::vector<Slot> old(capacity, Slot{0, EMPTY});
        old.swap(slots_);
        count_ = 0;
        for (const Slot& slot : old)
            if (slot.number != EMPTY) insert(slot);
    }

    std::vector<Slot> slots_;
    std::size_t count_ = 0;
};

}  // namespace
