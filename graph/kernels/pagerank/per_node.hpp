// A value for each node, in two arrays: one for even and one for odd numbers.
//
// A graph gives entities even numbers and passages odd ones, and has many more entities: half of one array would be unused.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace pagerank {

using Node = std::int32_t;

inline std::size_t side_of(Node node) { return static_cast<std::size_t>(node) & 1U; }
inline std::size_t place_of(Node node) { return static_cast<std::size_t>(node) >> 1U; }

// How many even and odd nodes there is room for.
struct Room {
    std::array<std::size_t, 2> sizes{};

    bool holds(Node node) const { return node >= 0 && place_of(node) < sizes[side_of(node)]; }
    void admit(Node node) { sizes[side_of(node)] = std::max(sizes[side_of(node)], place_of(node) + 1); }
    void admit(const Room& other) {
        for (std::size_t side : {0, 1}) sizes[side] = std::max(sizes[side], other.sizes[side]);
    }
    bool operator==(const Room& other) const { return sizes == other.sizes; }
};

template <typename Value>
class PerNode {
 public:
    // There must be room for the node.
    Value& operator[](Node node) { return sides_[side_of(node)][place_of(node)]; }
    const Value& operator[](Node node) const { return sides_[side_of(node)][place_of(node)]; }

    Room room() const { return {{sides_[0].size(), sides_[1].size()}}; }

    // Allocates room, an eighth more than needed where it grows; values and room stay as they are.
    void reserve(const Room& needed) {
        for (std::size_t side : {0, 1})
            if (needed.sizes[side] > sides_[side].capacity()) sides_[side].reserve(needed.sizes[side] + needed.sizes[side] / 8);
    }

    // Makes room with new values; never less than there is.
    void extend(const Room& needed) {
        for (std::size_t side : {0, 1})
            if (needed.sizes[side] > sides_[side].size()) sides_[side].resize(needed.sizes[side]);
    }

    template <typename Visit>
    void each(Visit visit) const {
        for (const auto& side : sides_)
            for (const Value& value : side) visit(value);
    }

    // Without what the values allocate.
    std::size_t memory_bytes() const { return (sides_[0].capacity() + sides_[1].capacity()) * sizeof(Value); }

 private:
    std::array<std::vector<Value>, 2> sides_;
};

}  // namespace pagerank
