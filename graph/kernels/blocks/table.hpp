// A hash table from keys below 2^61 to references, by linear probing: 4 bytes per slot, at most 7 of 8 in use.
//
// A slot holds a reference and, in the bits that it leaves, the lowest bits of the key: its tag. The table holds no keys:
// its owner knows by a reference whether a key is the right one, and refills the table when it is made anew. Keys are
// hashes already. Invariant: no free slot is between a key's home slot and its own; a removed one leaves a mark there.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace blocks {

class Table {
 public:
    using Key = std::uint64_t;
    using Reference = std::uint32_t;  // not 0

    static constexpr std::size_t NOWHERE = ~std::size_t{0};

    // Calls visit(place, reference) for the slots with the key's tag until it returns true. Returns that place, or NOWHERE.
    template <typename Visit>
    std::size_t find(Key key, Visit visit) const {
        if (slots_.empty()) return NOWHERE;
        const std::uint32_t wanted = tag(key);
        for (std::size_t at = home(key); slots_[at]; at = next(at)) {
            const Reference held = reference(at);
            if (slots_[at] - held == wanted && held && visit(at, held)) return at;
        }
        return NOWHERE;
    }

    void fetch(Key key) const {
        if (!slots_.empty()) __builtin_prefetch(slots_.data() + home(key));
    }

    Reference reference(std::size_t at) const { return slots_[at] & mask(); }
    void refer(std::size_t at, Reference reference) { slots_[at] = (slots_[at] & ~mask()) | reference; }

    // Equal tags and references make equal slots.
    std::uint32_t tag(Key key) const { return static_cast<std::uint32_t>(key << width_); }

    // The key must be absent, and `fits` true for 1.
    void insert(Key key, Reference reference) {
        std::size_t at = home(key);
        while (slots_[at] & mask()) at = next(at);
        removed_ -= slots_[at] == REMOVED;
        slots_[at] = tag(key) | reference;
        ++used_;
    }

    void erase(std::size_t at) {
        --used_;
        if (slots_[next(at)]) {
            slots_[at] = REMOVED;
            ++removed_;
            return;
        }
        slots_[at] = 0;
        for (at = previous(at); slots_[at] == REMOVED; at = previous(at)) {
            slots_[at] = 0;
            --removed_;
        }
    }

    // Whether there is room for these keys, and for references up to this one.
    bool fits(std::size_t count, Reference largest) const {
        return (used_ + removed_ + count) * 8 <= slots_.size() * 7 && !(largest & ~mask());
    }
    bool is_sparse() const { return slots_.size() > FEWEST && used_ * 4 < slots_.size(); }

    // Returns an empty table for as many keys as this one has and these, a quarter more than are needed. The owner inserts.
    Table renewed(std::size_t count, Reference largest) const {
        Table made;
        made.width_ = width_;
        made.slots_.resize(std::max<std::size_t>((used_ + count) * 10 / 7 + 1, FEWEST));
        while (largest >> made.width_) ++made.width_;
        return made;
    }

    std::size_t bytes() const { return slots_.capacity() * sizeof(std::uint32_t); }

 private:
    static constexpr std::size_t FEWEST = 16;
    static constexpr std::uint32_t REMOVED = std::uint32_t{1} << 31;

    Reference mask() const { return (std::uint32_t{1} << width_) - 1; }
    // The upper 32 bits of a key, scaled to the number of slots, which is no power of two. At most 2^32 slots.
    std::size_t home(Key key) const { return (key >> 29) * slots_.size() >> 32; }
    std::size_t next(std::size_t at) const { return at + 1 == slots_.size() ? 0 : at + 1; }
    std::size_t previous(std::size_t at) const { return (at ? at : slots_.size()) - 1; }

    std::vector<std::uint32_t> slots_;  // 0 is a free slot
    std::size_t used_ = 0, removed_ = 0;
    int width_ = 8;  // bits of a reference, at most 31
};

}  // namespace blocks
