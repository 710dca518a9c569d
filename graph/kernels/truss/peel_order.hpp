// The records of the edges, and the peel order: all edges ordered by trussness, then by a linked list per trussness.
//
// Each record has two counts, so that most updates do not enumerate the triangles of an old edge:
//   later    triangles whose other two edges come later in the order (only the first edge of a triangle counts it)
//   support  triangles whose other two edges have the record's trussness or more
// Between updates, for every edge: later <= trussness - 2 <= support. The left side proves that no edge's trussness
// is too low (peeling in this order removes each edge at its level), the right side that none is too high. Edges of
// trussness 2 are in no triangle and in no list.
// Positions are 64-bit labels (order maintenance: Dietz & Sleator 1987). When the gap between two neighbours is used up,
// the labels around it are spread. This keeps the relative order, so a heap that compares labels of live records is still
// a heap.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <new>
#include <string>
#include <vector>

#include "adjacency.hpp"

namespace truss {

struct Record {
    std::int64_t label = 0;
    std::int32_t trussness = 0;
    std::int32_t later = 0;
    std::int32_t support = 0;
    std::int32_t slot = none;  // position in the scratch of the current update, else none
    EdgeId previous = none;
    EdgeId next = none;
};
static_assert(sizeof(Record) == 32, "a record never straddles a cache line");

struct Ends {
    Node u, v;  // u < v; u < 0 marks a free record
};

inline std::string name(const Ends& ends) {
    return "edge (" + std::to_string(ends.u) + ", " + std::to_string(ends.v) + ")";
}

// A vector of trivially copyable records that grows by an eighth: for large blocks, realloc moves pages and copies nothing.
template <class T>
class Table {
 public:
    Table() = default;
    Table(const Table&) = delete;
    Table& operator=(const Table&) = delete;
    ~Table() { std::free(data_); }
    T& operator[](std::int64_t i) { return data_[i]; }
    const T& operator[](std::int64_t i) const { return data_[i]; }
    std::int64_t size() const { return size_; }
    std::size_t memory_bytes() const { return sizeof(T) * static_cast<std::size_t>(capacity_); }
    void push_back(const T& value) {
        if (size_ == capacity_) grow(size_ + size_ / 8 + 64);
        data_[size_++] = value;
    }
    void grow(std::int64_t capacity) {
        auto* moved = static_cast<T*>(std::realloc(static_cast<void*>(data_), sizeof(T) * capacity));
        if (!moved) throw std::bad_alloc();
        data_ = moved;
        capacity_ = capacity;
    }

 private:
    T* data_ = nullptr;
    std::int64_t size_ = 0, capacity_ = 0;
};

class PeelOrder {
 public:
    struct Level {
        EdgeId head = none, tail = none;
    };

    static constexpr std::int64_t usual_stride = std::int64_t{1} << 32;

    // The stride is the distance of labels at the ends of a level; tests use a small one, so that gaps are often used up.
    explicit PeelOrder(std::int64_t stride = usual_stride) : stride_(stride) {}

    Record& operator[](EdgeId edge) { return records_[edge]; }
    const Record& operator[](EdgeId edge) const { return records_[edge]; }
    void prefetch(EdgeId edge) const { __builtin_prefetch(&records_[edge], 1); }
    void prefetch_ends(EdgeId edge) const { __builtin_prefetch(&ends_[edge]); }
    const Ends& ends(EdgeId edge) const { return ends_[edge]; }
    std::int64_t records() const { return records_.size(); }  // free ones included
    std::int64_t size() const { return live_; }
    bool is_live(EdgeId edge) const { return ends_[edge].u >= 0; }

    // Returns true if a is before b in the order.
    bool before(const Record& a, const Record& b) const {
        return a.trussness != b.trussness ? a.trussness < b.trussness : a.label < b.label;
    }

    void reserve(std::int64_t edges) {
        records_.grow(edges);
        ends_.grow(edges);
    }

    // Creates a record that is in no list. Freed ids are reused, the last freed first.
    EdgeId create(Node u, Node v) {
        EdgeId edge = free_;
        if (edge == none) {
            edge = static_cast<EdgeId>(records_.size());
            records_.push_back(Record{});
            ends_.push_back({u, v});
        } else {
            free_ = records_[edge].next;
            records_[edge] = Record{};
            ends_[edge] = {u, v};
        }
        ++live_;
        return edge;
    }

    // Frees a record that is in no list.
    void destroy(EdgeId edge) {
        ends_[edge].u = none;
        records_[edge].next = free_;
        free_ = edge;
        --live_;
    }

    void unlink(EdgeId edge) {
        const Record& record = records_[edge];
        if (record.trussness <= 2) return;
        Level& level = levels_[record.trussness];
        (record.previous == none ? level.head : records_[record.previous].next) = record.next;
        (record.next == none ? level.tail : records_[record.next].previous) = record.previous;
    }

    // Sets the trussness of an unlinked edge, and appends it to its level. Cost: O(1).
    void link_last(EdgeId edge, std::int32_t trussness) {
        Record& record = records_[edge];
        record.trussness = trussness;
        if (trussness <= 2) return;
        Level& level = level_of(trussness);
        record.label = level.tail == none ? 0 : records_[level.tail].label + stride_;
        record.previous = level.tail;
        record.next = none;
        (level.tail == none ? level.head : records_[level.tail].next) = edge;
        level.tail = edge;
    }

    void link_first(EdgeId edge, std::int32_t trussness) {
        Record& record = records_[edge];
        Level& level = level_of(trussness);
        record.trussness = trussness;
        record.label = level.head == none ? 0 : records_[level.head].label - stride_;
        record.previous = none;
        record.next = level.head;
        (level.head == none ? level.tail : records_[level.head].previous) = edge;
        level.head = edge;
    }

    // Inserts unlinked edges of the anchor's level directly after it, in the given order. Cost: O(edges), and a spread of
    // labels if the gap is too small.
    void link_behind(EdgeId anchor, const std::vector<EdgeId>& edges) {
        const auto count = static_cast<std::int64_t>(edges.size());
        const EdgeId next = records_[anchor].next;
        if (next != none && records_[next].label - records_[anchor].label <= count) spread(anchor, next, count);
        const std::int64_t gap =
            next == none ? stride_ : (records_[next].label - records_[anchor].label) / (count + 1);
        EdgeId previous = anchor;
        for (EdgeId edge : edges) {
            records_[edge].label = records_[previous].label + gap;
            records_[edge].previous = previous;
            records_[previous].next = edge;
            previous = edge;
        }
        records_[previous].next = next;
        (next == none ? levels_[records_[anchor].trussness].tail : records_[next].previous) = previous;
    }

    std::int32_t highest_level() const { return static_cast<std::int32_t>(levels_.size()) - 1; }
    const Level& level(std::int32_t trussness) const { return levels_[trussness]; }

    std::size_t memory_bytes() const {
        return records_.memory_bytes() + ends_.memory_bytes() + levels_.capacity() * sizeof(Level);
    }

 private:
    Level& level_of(std::int32_t trussness) {
        if (static_cast<std::size_t>(trussness) >= levels_.size()) levels_.resize(trussness + 1);
        return levels_[trussness];
    }

    // Extends a window around the gap between left and right until its labels can be far enough apart, and spreads them.
    // Cost: O(edges in the window).
    void spread(EdgeId left, EdgeId right, std::int64_t wanted) {
        const std::int64_t apart = (wanted + 1) << 8;
        std::int64_t count = 2;
        while (records_[right].label - records_[left].label < apart * count) {
            if (records_[left].previous != none) left = records_[left].previous, ++count;
            if (records_[right].next == none) {
                // The last label of a level may grow: no label is after it.
                records_[right].label = records_[left].label + (std::max(apart, stride_) * count);
                break;
            }
            right = records_[right].next, ++count;
        }
        const std::int64_t step = (records_[right].label - records_[left].label) / (count - 1);
        for (EdgeId edge = records_[left].next; edge != right; edge = records_[edge].next)
            records_[edge].label = records_[records_[edge].previous].label + step;
    }

    const std::int64_t stride_;
    Table<Record> records_;
    Table<Ends> ends_;
    std::vector<Level> levels_;
    EdgeId free_ = none;
    std::int64_t live_ = 0;
};

}  // namespace truss
