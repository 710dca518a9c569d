// The weighted neighbours of one node: an array for scans, and where there is room for more than 32 links a hash table
// from nodes to positions, in one block of memory.
//
// The links are unordered: the last link replaces an erased one, so an update of a hub costs as much as one of a leaf.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <type_traits>
#include <utility>

#include "per_node.hpp"

namespace pagerank {

struct Link {
    Node node;
    float weight;
};

// The links of a node, valid until they change.
class LinkSpan {
 public:
    LinkSpan(const Link* first, std::size_t count) : first_(first), count_(count) {}

    const Link* begin() const { return first_; }
    const Link* end() const { return first_ + count_; }
    const Link& operator[](std::size_t at) const { return first_[at]; }
    const Link* data() const { return first_; }
    std::size_t size() const { return count_; }
    bool empty() const { return count_ == 0; }

 private:
    const Link* first_;
    std::size_t count_;
};

class Neighbours {
 public:
    Neighbours() = default;
    Neighbours(Neighbours&& other) noexcept { swap(other); }
    Neighbours& operator=(Neighbours&& other) noexcept {
        Neighbours(std::move(other)).swap(*this);
        return *this;
    }
    ~Neighbours() { std::free(links_); }

    LinkSpan links() const { return {links_, size_}; }

    float weight(Node node) const {
        const std::int32_t place = find(node);
        return place < 0 ? 0.0F : links_[place].weight;
    }

    // Sets the weight of a link, or creates it; 0 erases it. Cost: O(1) expected, amortised over the growth of the block.
    void set(Node node, float weight) {
        const std::int32_t place = find(node);
        if (weight == 0.0F) {
            if (place >= 0) erase(static_cast<std::uint32_t>(place));
        } else if (place >= 0) {
            links_[place].weight = weight;
        } else {
            if (size_ == capacity_) resize(grown(size_));
            links_[size_] = {node, weight};
            if (has_table()) table()[slot_of(node)] = static_cast<std::int32_t>(size_);
            ++size_;
        }
    }

    // Includes malloc's overhead for the block.
    std::size_t memory_bytes() const { return links_ ? bytes(capacity_) + malloc_bytes : 0; }

 private:
    static_assert(std::is_trivially_copyable<Link>::value, "links are moved by realloc");
    static constexpr std::uint32_t scanned = 32;  // four cache lines: a scan is faster than a look-up in a table
    static constexpr std::int32_t empty = -1;
    static constexpr std::size_t malloc_bytes = 8;

    // A quarter more, and an odd number, at least 3: malloc has steps of 16 bytes from 32, 8 of which it needs.
    static std::uint32_t grown(std::uint32_t size) {
        const std::uint32_t wanted = std::max(3U, (size + size / 4 + 1) | 1U);
        return wanted > scanned && size < scanned ? scanned : wanted;
    }

    // The table has at least twice as many slots as there is room for links, a power of two.
    static std::size_t slots(std::uint32_t capacity) {
        if (capacity <= scanned) return 0;
        std::size_t count = 4 * scanned;
        while (count < 2 * std::size_t{capacity}) count *= 2;
        return count;
    }
    static std::size_t bytes(std::uint32_t capacity) {
        return capacity * sizeof(Link) + slots(capacity) * sizeof(std::int32_t);
    }

    bool has_table() const { return capacity_ > scanned; }
    std::int32_t* table() const { return reinterpret_cast<std::int32_t*>(links_ + capacity_); }

    std::size_t home(Node node, std::size_t mask) const {
        return (static_cast<std::uint64_t>(static_cast<std::uint32_t>(node)) * 0x9E3779B97F4A7C15ULL >> 32) & mask;
    }

    std::int32_t find(Node node) const {
        if (has_table()) return table()[slot_of(node)];
        for (std::uint32_t place = 0; place < size_; ++place)
            if (links_[place].node == node) return static_cast<std::int32_t>(place);
        return empty;
    }

    // Returns the slot with the node's position, or the empty slot for it.
    std::size_t slot_of(Node node) const {
        const std::size_t mask = slots(capacity_) - 1;
        std::size_t slot = home(node, mask);
        while (table()[slot] != empty && links_[table()[slot]].node != node) slot = (slot + 1) & mask;
        return slot;
    }

    void resize(std::uint32_t capacity) {
        auto* moved = static_cast<Link*>(std::realloc(static_cast<void*>(links_), bytes(capacity)));
        if (!moved) throw std::bad_alloc();
        links_ = moved;
        capacity_ = capacity;
        if (!has_table()) return;
        std::fill(table(), table() + slots(capacity), empty);
        for (std::uint32_t place = 0; place < size_; ++place)
            table()[slot_of(links_[place].node)] = static_cast<std::int32_t>(place);
    }

    void erase(std::uint32_t place) {
        const std::uint32_t last = size_ - 1;
        if (has_table()) {
            vacate(slot_of(links_[place].node));
            if (place < last) table()[slot_of(links_[last].node)] = static_cast<std::int32_t>(place);
        }
        links_[place] = links_[last];
        size_ = last;
        shrink();
    }

    // Empties a slot by backward shift deletion: linear probing without tombstones (Knuth, TAOCP 3, 6.4, algorithm R).
    void vacate(std::size_t hole) {
        const std::size_t mask = slots(capacity_) - 1;
        for (std::size_t slot = (hole + 1) & mask; table()[slot] != empty; slot = (slot + 1) & mask) {
            const std::size_t wanted = home(links_[table()[slot]].node, mask);
            if (((slot - wanted) & mask) >= ((slot - hole) & mask)) {
                table()[hole] = table()[slot];
                hole = slot;
            }
        }
        table()[hole] = empty;
    }

    // Shrinks the block when it is at most a quarter full, so that growing and shrinking cost O(1) amortised per link.
    void shrink() {
        if (capacity_ <= 8 || 4 * std::size_t{size_} > capacity_) return;
        resize(grown(size_));
    }

    void swap(Neighbours& other) noexcept {
        std::swap(links_, other.links_);
        std::swap(size_, other.size_);
        std::swap(capacity_, other.capacity_);
    }

    Link* links_ = nullptr;
    std::uint32_t size_ = 0, capacity_ = 0;
};

}  // namespace pagerank
