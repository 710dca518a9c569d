// Sorted adjacency of an undirected simple graph: each node's neighbours, and the ids of the edges to them.
//
// Neighbours and edge ids are two halves of one block, so an intersection reads four bytes per neighbour, and an id only
// on a match. A block grows by a third and shrinks when three quarters are empty; freed blocks are returned to malloc.
// Invariant: both halves of a node's block are sorted by neighbour, and x is in y's block exactly when y is in x's.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>
#include <vector>

namespace truss {

using Node = std::int32_t;
using EdgeId = std::int32_t;
constexpr EdgeId none = -1;

class Adjacency {
 public:
    Adjacency() = default;
    Adjacency(const Adjacency&) = delete;
    Adjacency& operator=(const Adjacency&) = delete;
    ~Adjacency() {
        for (Block& block : blocks_) std::free(block.neighbours);
    }

    Node nodes() const { return static_cast<Node>(blocks_.size()); }
    std::int32_t degree(Node node) const { return blocks_[node].degree; }
    EdgeId edge_at(Node node, std::int32_t place) const { return blocks_[node].ids()[place]; }
    Node neighbour_at(Node node, std::int32_t place) const { return blocks_[node].neighbours[place]; }

    // Returns the edge between u and v, or none. Cost: O(log of the smaller degree).
    EdgeId find(Node u, Node v) const {
        if (u < 0 || v < 0 || u >= nodes() || v >= nodes()) return none;
        if (blocks_[u].degree > blocks_[v].degree) std::swap(u, v);
        const Block& block = blocks_[u];
        const Node* place = lower_bound(block.neighbours, block.degree, v);
        const auto index = place - block.neighbours;
        return index < block.degree && *place == v ? block.ids()[index] : none;
    }

    // Inserts an absent edge. Cost: O(degree), a memmove.
    void insert(Node u, Node v, EdgeId edge) {
        reserve_nodes(std::max(u, v) + 1);
        insert_half(blocks_[u], v, edge);
        insert_half(blocks_[v], u, edge);
    }

    // Removes an existing edge. Cost: O(degree), a memmove.
    void erase(Node u, Node v) {
        erase_half(blocks_[u], v);
        erase_half(blocks_[v], u);
    }

    // Allocates exactly the given number of neighbours per node, for a bulk load with `append`.
    void reserve(const std::vector<std::int32_t>& degrees) {
        reserve_nodes(static_cast<Node>(degrees.size()));
        for (std::size_t node = 0; node < degrees.size(); ++node)
            if (degrees[node] > 0) resize(blocks_[node], degrees[node] | 1);
    }

    // Appends an edge, in ascending order of (u, v) with u < v, after `reserve`. Cost: O(1).
    void append(Node u, Node v, EdgeId edge) {
        blocks_[u].push_back(v, edge);
        blocks_[v].push_back(u, edge);
    }

    // Prefetch the nodes of a batch, which are scattered in memory, then their blocks.
    void prefetch_node(Node node) const {
        if (node >= 0 && node < nodes()) fetch(&blocks_[node]);
    }
    void prefetch_neighbours(Node node) const {
        if (node < 0 || node >= nodes() || blocks_[node].degree == 0) return;
        const Block& block = blocks_[node];
        fetch(block.neighbours);
        fetch(block.neighbours + block.degree / 2);
        fetch(block.neighbours + block.degree - 1);
        fetch(block.ids() + block.degree - 1);
    }

    // Calls visit(edge to u, edge to v) for every common neighbour of the neighbours u and v. Cost: O(sum of the degrees) by
    // merging, or O(smaller x log(larger / smaller)) by galloping search (Demaine, Lopez-Ortiz & Munro 2000) if the degrees
    // differ by gallop_ratio or more.
    template <class Visit>
    void for_each_triangle(Node u, Node v, Visit&& visit) const {
        if (blocks_[u].degree <= blocks_[v].degree)
            intersect(blocks_[u], blocks_[v], [&](EdgeId near, EdgeId far) { visit(near, far); });
        else
            intersect(blocks_[v], blocks_[u], [&](EdgeId near, EdgeId far) { visit(far, near); });
    }

    std::size_t memory_bytes() const {
        constexpr std::size_t malloc_header = 8;
        std::size_t bytes = blocks_.capacity() * sizeof(Block);
        for (const Block& block : blocks_)
            if (block.capacity) bytes += block.capacity * 2 * sizeof(Node) + malloc_header;
        return bytes;
    }

 private:
    struct Block {
        Node* neighbours = nullptr;
        std::int32_t degree = 0;
        std::int32_t capacity = 0;

        EdgeId* ids() const { return neighbours + capacity; }
        void push_back(Node neighbour, EdgeId edge) {
            neighbours[degree] = neighbour;
            ids()[degree++] = edge;
        }
    };

    // The empty statement prevents GCC from treating the callers as functions without effect, whose calls it would remove.
    static void fetch(const void* address) {
        __builtin_prefetch(address, 1);
        asm volatile("");
    }

    // Ratio of the degrees from which galloping search is faster.
    static constexpr std::int32_t gallop_ratio = 8;

    // Returns the first element that is not less than the value, by a binary search with conditional moves instead of
    // unpredictable branches.
    static const Node* lower_bound(const Node* first, std::int64_t length, Node value) {
        while (length > 1) {
            const std::int64_t half = length / 2;
            first += first[half - 1] < value ? half : 0;
            length -= half;
        }
        return first + (length == 1 && *first < value);
    }

    template <class Visit>
    static void intersect(const Block& small, const Block& large, Visit&& visit) {
        if (small.degree <= 1) return;  // its only neighbour is the other end
        if (large.degree / gallop_ratio >= small.degree)
            gallop(small, large, visit);
        else
            merge(small, large, visit);
    }

    template <class Visit>
    static void merge(const Block& small, const Block& large, Visit&& visit) {
        const Node *a = small.neighbours, *b = large.neighbours;
        const Node *a_end = a + small.degree, *b_end = b + large.degree;
        while (a < a_end && b < b_end) {
            const Node x = *a, y = *b;
            if (x == y) visit(small.ids()[a - small.neighbours], large.ids()[b - large.neighbours]);
            a += x <= y;
            b += y <= x;
        }
    }

    template <class Visit>
    static void gallop(const Block& small, const Block& large, Visit&& visit) {
        const Node* place = large.neighbours;
        const Node* const end = place + large.degree;
        for (std::int32_t i = 0; i < small.degree && place < end; ++i) {
            const Node wanted = small.neighbours[i];
            std::int64_t step = 1;
            while (place + step < end && place[step] < wanted) step *= 2;
            const std::int64_t length = std::min<std::int64_t>(step + 1, end - place);
            place = lower_bound(place + step / 2, length - step / 2, wanted);
            if (place < end && *place == wanted) visit(small.ids()[i], large.ids()[place - large.neighbours]);
        }
    }

    void reserve_nodes(Node count) {
        if (count <= nodes()) return;
        const auto wanted = static_cast<std::size_t>(count);
        if (wanted > blocks_.capacity()) blocks_.reserve(wanted + wanted / 8 + 16);
        blocks_.resize(wanted);
    }

    static void resize(Block& block, std::int32_t capacity) {
        auto* fresh = static_cast<Node*>(std::malloc(sizeof(Node) * 2 * static_cast<std::size_t>(capacity)));
        if (!fresh) throw std::bad_alloc();
        if (block.degree) {
            std::memcpy(fresh, block.neighbours, sizeof(Node) * block.degree);
            std::memcpy(fresh + capacity, block.ids(), sizeof(Node) * block.degree);
        }
        std::free(block.neighbours);
        block.neighbours = fresh;
        block.capacity = capacity;
    }

    static void insert_half(Block& block, Node neighbour, EdgeId edge) {
        // Odd capacities use malloc's 16-byte steps fully (its header has 8 bytes).
        if (block.degree == block.capacity) resize(block, (block.capacity + block.capacity / 3 + 2) | 1);
        std::int64_t place = block.degree;
        if (place && block.neighbours[place - 1] > neighbour)
            place = lower_bound(block.neighbours, block.degree, neighbour) - block.neighbours;
        const std::size_t moved = sizeof(Node) * (block.degree - place);
        if (moved) {
            std::memmove(block.neighbours + place + 1, block.neighbours + place, moved);
            std::memmove(block.ids() + place + 1, block.ids() + place, moved);
        }
        block.neighbours[place] = neighbour;
        block.ids()[place] = edge;
        ++block.degree;
    }

    static void erase_half(Block& block, Node neighbour) {
        const auto place = lower_bound(block.neighbours, block.degree, neighbour) - block.neighbours;
        const std::size_t moved = sizeof(Node) * (--block.degree - place);
        std::memmove(block.neighbours + place, block.neighbours + place + 1, moved);
        std::memmove(block.ids() + place, block.ids() + place + 1, moved);
        if (block.degree == 0) {
            std::free(block.neighbours);
            block = Block{};
        } else if (block.degree < block.capacity / 4) {
            resize(block, (block.degree * 2) | 1);
        }
    }

    std::vector<Block> blocks_;
};

}  // namespace truss
