// The weighted neighbours of one node: an array for scans, and from 33 links a hash table from nodes to positions.
//
// The links are unordered: the last link replaces an erased one, so an update of a hub costs as much as one of a leaf.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "per_node.hpp"

namespace pagerank {

struct Link {
    Node node;
    float weight;
};

class Neighbours {
 public:
    const std::vector<Link>& links() const { return links_; }

    float weight(Node node) const {
        const std::int32_t place = find(node);
        return place < 0 ? 0.0F : links_[static_cast<std::size_t>(place)].weight;
    }

    // Sets the weight of a link, or creates it; 0 erases it. Cost: O(1) expected, amortised over the growth of the arrays.
    void set(Node node, float weight) {
        const std::int32_t place = find(node);
        if (weight == 0.0F) {
            if (place >= 0) erase(static_cast<std::size_t>(place));
        } else if (place >= 0) {
            links_[static_cast<std::size_t>(place)].weight = weight;
        } else {
            links_.push_back({node, weight});
            if (table_ || links_.size() > scanned) enter(links_.size() - 1);
        }
    }

    std::size_t memory_bytes() const {
        const std::size_t table = table_ ? sizeof(Table) + table_->capacity() * sizeof(std::int32_t) : 0;
        return links_.capacity() * sizeof(Link) + table;
    }

 private:
    static constexpr std::size_t scanned = 32;  // four cache lines: a scan is faster than a look-up in a table
    static constexpr std::int32_t empty = -1;
    using Table = std::vector<std::int32_t>;

    std::size_t home(Node node) const {
        return (static_cast<std::uint64_t>(static_cast<std::uint32_t>(node)) * 0x9E3779B97F4A7C15ULL >> 32) & (table_->size() - 1);
    }

    std::size_t next(std::size_t slot) const { return (slot + 1) & (table_->size() - 1); }

    std::int32_t find(Node node) const {
        if (!table_) {
            for (std::size_t place = 0; place < links_.size(); ++place)
                if (links_[place].node == node) return static_cast<std::int32_t>(place);
            return empty;
        }
        return (*table_)[slot_of(node)];
    }

    // Returns the slot with the node's position, or the empty slot for it.
    std::size_t slot_of(Node node) const {
        std::size_t slot = home(node);
        while ((*table_)[slot] != empty && links_[static_cast<std::size_t>((*table_)[slot])].node != node) slot = next(slot);
        return slot;
    }

    void enter(std::size_t place) {
        if (!table_ || 2 * links_.size() > table_->size()) {
            index();
        } else {
            (*table_)[slot_of(links_[place].node)] = static_cast<std::int32_t>(place);
        }
    }

    void index() {
        std::size_t slots = 4 * scanned;
        while (slots < 2 * links_.size()) slots *= 2;
        if (!table_) table_ = std::make_unique<Table>();
        table_->assign(slots, empty);
        for (std::size_t place = 0; place < links_.size(); ++place)
            (*table_)[slot_of(links_[place].node)] = static_cast<std::int32_t>(place);
    }

    void erase(std::size_t place) {
        if (table_) {
            vacate(slot_of(links_[place].node));
            if (place + 1 < links_.size()) (*table_)[slot_of(links_.back().node)] = static_cast<std::int32_t>(place);
        }
        links_[place] = links_.back();
        links_.pop_back();
        shrink();
    }

    // Empties a slot by backward shift deletion: linear probing without tombstones (Knuth, TAOCP 3, 6.4, algorithm R).
    void vacate(std::size_t hole) {
        for (std::size_t slot = next(hole); (*table_)[slot] != empty; slot = next(slot)) {
            const std::size_t wanted = home(links_[static_cast<std::size_t>((*table_)[slot])].node);
            const std::size_t mask = table_->size() - 1;
            if (((slot - wanted) & mask) >= ((slot - hole) & mask)) {
                (*table_)[hole] = (*table_)[slot];
                hole = slot;
            }
        }
        (*table_)[hole] = empty;
    }

    // Halves the arrays when they are at most a quarter full, so that growing and shrinking cost O(1) amortised per link.
    void shrink() {
        if (links_.capacity() <= 8 || 4 * links_.size() > links_.capacity()) return;
        std::vector<Link> smaller;
        smaller.reserve(2 * links_.size());
        smaller.assign(links_.begin(), links_.end());
        links_.swap(smaller);
        if (!table_) return;
        if (links_.size() > scanned) {
            index();
            table_->shrink_to_fit();
        } else {
            table_.reset();
        }
    }

    std::vector<Link> links_;
    std::unique_ptr<Table> table_;  // none with few links, as most nodes have
};

}  // namespace pagerank
