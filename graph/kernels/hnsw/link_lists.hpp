// The links of the elements of a graph. Those of the lowest level are in one pool, in pieces of four links, as many as an
// element needs: half of the most it may have is usual. Those of upper levels, which one element in sixteen has, are
// allocated for the most it may have there.
//
// Invariant: an element's piece has room for its links rounded up to a multiple of four. A piece that is no longer used is
// in the list of free pieces of its size, whose first number leads to the next one.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include "../common/growing_array.hpp"

namespace hnswlib {

using Number = unsigned int;

struct Links {
    const Number *first;
    std::size_t size;

    const Number *begin() const { return first; }
    const Number *end() const { return first + size; }
    Number operator[](std::size_t at) const { return first[at]; }
};

class LinkLists {
 public:
    LinkLists() = default;
    explicit LinkLists(std::size_t most_above) : most_above_(most_above) {}

    std::size_t size() const { return heads_.size(); }
    int level(Number element) const { return heads_[element].level; }

    // Makes room for the heads of this many elements, which occupies no memory before it is used.
    void reserve(std::size_t elements) { heads_.reserve(elements); }

    // Adds an element without links. Cost: O(1), amortised: now and then the pieces are moved together.
    void add(int level) {
        if (level > kHighest) throw std::runtime_error("An element has too many levels");
        tidy();
        if (level > 0) above_.push_back({static_cast<Number>(size()), std::make_unique<Number[]>(level * stride())});
        heads_.push_back({0, 0, static_cast<std::uint8_t>(level)});
    }

    // The links of an element, valid until any change.
    Links of(Number element, int level) const {
        if (level > 0) {
            const Number *list = above(element, level);
            return {list + 1, *list};
        }
        const Head head = heads_[element];
        return {pool_.data() + head.piece * kUnit, head.size};
    }

    // Replaces the links, which must not be in this object.
    void set(Number element, int level, const Number *links, std::size_t count) {
        std::copy(links, links + count, sized(element, level, count));
    }

    void append(Number element, int level, Number link) {
        const std::size_t count = of(element, level).size;
        sized(element, level, count + 1)[count] = link;
    }

    // Fetches the head, and then the links of the lowest level, into the cache.
    void fetch_head(Number element) const { __builtin_prefetch(heads_.data() + element); }
    void fetch(Number element) const {
        const Head head = heads_[element];
        const char *links = reinterpret_cast<const char *>(pool_.data() + head.piece * kUnit);
        for (std::size_t at = 0; at < head.size * sizeof(Number); at += 64) __builtin_prefetch(links + at);
    }

    // Without room that is not used yet.
    std::size_t memory_bytes() const {
        std::size_t bytes = pool_.size() * sizeof(Number) + size() * sizeof(Head) + above_.capacity() * sizeof(above_[0]);
        for (const auto &[element, lists] : above_) bytes += level(element) * stride() * sizeof(Number) + kMallocBytes;
        return bytes;
    }

 private:
    static constexpr std::size_t kUnit = 4, kTidyFrom = 4096, kMallocBytes = 8;
    static constexpr int kHighest = 255;

    struct Head {
        std::uint32_t piece;  // in units
        std::uint16_t size;
        std::uint8_t level;
    };

    static std::size_t units(std::size_t count) { return (count + kUnit - 1) / kUnit; }
    std::size_t stride() const { return most_above_ + 1; }

    // A list of an upper level begins with its size.
    Number *above(Number element, int level) const {
        const auto found = std::lower_bound(above_.begin(), above_.end(), element,
                                            [](const auto &one, Number sought) { return one.first < sought; });
        return found->second.get() + (level - 1) * stride();
    }

    // Returns the list with room for another number of links; as many of its links as fit stay.
    Number *sized(Number element, int level, std::size_t count) {
        if (level > 0) {
            Number *list = above(element, level);
            *list = static_cast<Number>(count);
            return list + 1;
        }
        Head &head = heads_[element];
        if (units(head.size) != units(count)) {
            const std::uint32_t piece = taken(units(count));
            const Number *old = pool_.data() + head.piece * kUnit;
            std::copy(old, old + std::min<std::size_t>(head.size, count), pool_.data() + piece * kUnit);
            give_back(head.piece, units(head.size));
            head.piece = piece;
        }
        head.size = static_cast<std::uint16_t>(count);
        return pool_.data() + head.piece * kUnit;
    }

    std::uint32_t taken(std::size_t count) {
        if (!count) return 0;
        if (count < free_.size() && free_[count] != kNone) {
            const std::uint32_t piece = free_[count];
            free_[count] = pool_[piece * kUnit];
            free_units_ -= count;
            return piece;
        }
        if (pool_.size() / kUnit + count > kNone) throw std::length_error("the graph has too many links");
        pool_.extend(count * kUnit);
        return static_cast<std::uint32_t>(pool_.size() / kUnit - count);
    }

    void give_back(std::uint32_t piece, std::size_t count) {
        if (!count) return;
        if (count >= free_.size()) free_.resize(count + 1, kNone);
        pool_[piece * kUnit] = free_[count];
        free_[count] = piece;
        free_units_ += count;
    }

    // Moves the pieces together when an eighth of them is free.
    void tidy() {
        if (free_units_ < kTidyFrom || free_units_ * 8 < pool_.size() / kUnit) return;
        common::GrowingArray<Number> pool;
        pool.reserve(pool_.size() - free_units_ * kUnit);
        for (std::size_t element = 0; element < size(); ++element) {
            Head &head = heads_[element];
            if (!head.size) continue;
            const Number *old = pool_.data() + head.piece * kUnit;
            head.piece = static_cast<std::uint32_t>(pool.size() / kUnit);
            std::copy(old, old + head.size, pool.extend(units(head.size) * kUnit));
        }
        pool_.swap(pool);
        std::vector<std::uint32_t>().swap(free_);
        free_units_ = 0;
    }

    static constexpr std::uint32_t kNone = ~std::uint32_t{0};

    std::size_t most_above_ = 0;
    common::GrowingArray<Head> heads_;
    common::GrowingArray<Number> pool_;
    std::vector<std::uint32_t> free_;  // by size
    std::size_t free_units_ = 0;
    std::vector<std::pair<Number, std::unique_ptr<Number[]>>> above_;  // ascending: elements are added in order
};

}  // namespace hnswlib
