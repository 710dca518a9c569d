// The 8-bit codes of an index's vectors, by which its graph is built and searched.
//
// A coordinate is a whole number of steps, of which 127 are the greatest absolute coordinate of its vector: the cosine of
// two vectors of 256 coordinates differs by about 0.001 from that of their codes. A vector is elsewhere, often in a file,
// and is read when it is added, and when it is among the nearest of a search. Cost: a byte a coordinate.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "slots.hpp"

namespace hnswlib {

class Codes {
 public:
    explicit Codes(std::size_t dimensions) : dimensions_(dimensions) {}

    // Returns the slot of the code of a vector; it is valid as long as this object.
    Slot add(const Slot &vector) { return coded(vector, next()); }

    // Writes the code of a vector to `code`, and returns its slot.
    Slot coded(const Slot &vector, std::int8_t *code) const {
        float greatest = 0;
        for (std::size_t i = 0; i < dimensions_; ++i) greatest = std::max(greatest, std::fabs(coordinate(vector, i)));
        const float steps = greatest > 0 ? 127.0f / greatest : 0.0f;
        for (std::size_t i = 0; i < dimensions_; ++i)
            code[i] = static_cast<std::int8_t>(std::lrintf(coordinate(vector, i) * steps));
        return {code, greatest > 0 ? vector.scale / steps : 0.0f, Form::Code, vector.form};
    }

    std::size_t bytes() const { return blocks_.size() * block_bytes() + blocks_.capacity() * sizeof(blocks_[0]); }

 private:
    static constexpr std::size_t kRows = 256;  // of a block: blocks are never moved, since slots refer to them

    // Of a vector of float16 or float32.
    static float coordinate(const Slot &vector, std::size_t i) {
        return vector.form == Form::Half ? widened(static_cast<const std::uint16_t *>(vector.data)[i])
                                         : static_cast<const float *>(vector.data)[i];
    }

    std::size_t block_bytes() const { return kRows * dimensions_; }

    std::int8_t *next() {
        const std::size_t at = used_++ % kRows;
        if (at == 0) blocks_.emplace_back(new std::int8_t[block_bytes()]);
        return blocks_.back().get() + at * dimensions_;
    }

    std::size_t dimensions_, used_ = 0;
    std::vector<std::unique_ptr<std::int8_t[]>> blocks_;
};

}  // namespace hnswlib
