// A hash table from keys below 2^61 to 32-bit values, by linear probing: 12 bytes per slot, at most 7 of 8 in use.
//
// Invariant: a key is at its home slot or follows it without a free slot between. Removal moves later keys back, so no
// slot is lost to deleted keys. Keys are hashes already; the value 0 denotes a free slot.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace blocks {

class Table {
 public:
    std::uint32_t* find(std::uint64_t key) {
        if (slots_.empty()) return nullptr;
        for (std::size_t at = home(key);; at = next(at)) {
            if (!slots_[at].value) return nullptr;
            if (slots_[at].key() == key) return &slots_[at].value;
        }
    }

    // The key must be absent, the value not 0.
    void insert(std::uint64_t key, std::uint32_t value) {
        if ((used_ + 1) * 8 > slots_.size() * 7) resize(slots_.empty() ? 16 : slots_.size() + slots_.size() / 2);
        place(key, value);
        ++used_;
    }

    // The key must be present.
    void erase(std::uint64_t key) {
        std::size_t hole = home(key);
        while (slots_[hole].key() != key || !slots_[hole].value) hole = next(hole);
        for (std::size_t at = next(hole); slots_[at].value; at = next(at)) {
            const std::size_t wanted = home(slots_[at].key());
            const bool between = hole <= at ? (hole < wanted && wanted <= at) : (hole < wanted || wanted <= at);
            if (between) continue;
            slots_[hole] = slots_[at];
            hole = at;
        }
        slots_[hole] = {};
        --used_;
        if (slots_.size() > 16 && used_ * 4 < slots_.size()) resize(slots_.size() / 2);
    }

    std::size_t size() const { return used_; }
    std::size_t bytes() const { return slots_.capacity() * sizeof(Slot); }

 private:
    struct Slot {
        std::uint32_t low = 0, high = 0, value = 0;
        std::uint64_t key() const { return static_cast<std::uint64_t>(high) << 32 | low; }
    };

    // The upper bits of the product, scaled to the number of slots, which is no power of two. At most 2^32 slots.
    std::size_t home(std::uint64_t key) const { return (key * 0x9e3779b97f4a7c15ULL >> 32) * slots_.size() >> 32; }
    std::size_t next(std::size_t at) const { return at + 1 == slots_.size() ? 0 : at + 1; }

    void place(std::uint64_t key, std::uint32_t value) {
        std::size_t at = home(key);
        while (slots_[at].value) at = next(at);
        slots_[at] = {static_cast<std::uint32_t>(key), static_cast<std::uint32_t>(key >> 32), value};
    }

    void resize(std::size_t size) {
        std::vector<Slot> old(size);
        old.swap(slots_);
        for (const Slot& slot : old)
            if (slot.value) place(slot.key(), slot.value);
    }

    std::vector<Slot> slots_;
    std::size_t used_ = 0;
};

}  // namespace blocks
