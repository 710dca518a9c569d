// The codes of an index's vectors, by which its graph is built and searched.
//
// A coordinate of a code is a whole number of steps. With four bits, 7 steps are the greatest absolute coordinate of the
// vector, or less where clipping gives a greater cosine of vector and code; it is at least kLeastCosine, and 0.994 for
// normal coordinates. Where it is less (one coordinate dominates), and for fewer than kFewDimensions, a code has eight
// bits, and 127 steps. What is searched for, and a vector while it is added, has eight bits in any case: its cosine with
// another vector differs by some 0.007 from that of their codes at 256 dimensions, and by 0.001 where both have eight.
// A code of four bits is scaled so that its product with its own vector is exact, as estimates of RaBitQ are (Gao and
// Long 2024): for a vector nearby the error has no bias.
//
// A vector is elsewhere, often in a file, and is read when it is added, and when it is among the nearest of a search.
// Cost: half a byte a coordinate, or a byte.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "nibbles.hpp"
#include "slots.hpp"

namespace hnswlib {

// Memory for codes of one size, which is never moved, since slots refer to it.
class CodePool {
 public:
    explicit CodePool(std::size_t code_bytes) : code_bytes_(code_bytes) {}

    void *next() {
        const std::size_t at = used_++ % kRows;
        if (at == 0) blocks_.emplace_back(new std::uint8_t[kRows * code_bytes_]);
        return blocks_.back().get() + at * code_bytes_;
    }

    std::size_t bytes() const { return blocks_.size() * kRows * code_bytes_ + blocks_.capacity() * sizeof(blocks_[0]); }

 private:
    static constexpr std::size_t kRows = 256;  // of a block

    std::size_t code_bytes_, used_ = 0;
    std::vector<std::unique_ptr<std::uint8_t[]>> blocks_;
};

class Codes {
 public:
    // The query, or the vector that is added, in eight bits, with what products of nibbles read around it.
    using Wide = std::vector<std::int8_t>;

    explicit Codes(std::size_t dimensions)
        : dimensions_(dimensions),
          wide_bytes_(dimensions < kFewDimensions ? dimensions : nibble_blocks(dimensions) * kNibbleBlock),
          wide_(kSumBytes + wide_bytes_), narrow_(nibble_bytes(dimensions)) {}

    // Returns the slot of the code of a vector, which is valid as long as this object.
    Slot add(const Slot &vector) { return stored(vector, values_of(vector)); }

    // Returns that slot, and that of the code of eight bits, which is written to `code`.
    std::pair<Slot, Slot> add(const Slot &vector, Wide &code) {
        const Values values = values_of(vector);
        return {stored(vector, values), wide(vector, values, room(code))};
    }

    // Writes the code of eight bits of a vector to `code`, and returns its slot.
    Slot coded(const Slot &vector, Wide &code) const { return wide(vector, values_of(vector), room(code)); }

    std::size_t bytes() const { return wide_.bytes() + narrow_.bytes(); }

 private:
    static constexpr std::size_t kFewDimensions = 128;
    static constexpr float kLeastCosine = 0.985f;
    static constexpr float kClips[] = {1.0f, 0.75f, 0.55f};

    using Values = std::vector<float>;  // with zeros up to a multiple of 8

    struct Steps {
        float each, cosine, product;  // steps of 1; of vector and code; their inner product
    };

    Slot stored(const Slot &vector, const Values &values) {
        const Steps steps = best_steps(values);
        if (steps.cosine < kLeastCosine) return wide(vector, values, static_cast<std::int8_t *>(wide_.next()));
        auto *code = static_cast<std::uint8_t *>(narrow_.next());
        std::fill(code, code + nibble_bytes(dimensions_), static_cast<std::uint8_t>(kNibbleZero * 17));
        for (std::size_t i = 0; i < dimensions_; ++i) {
            const auto nibble = static_cast<unsigned>(nibble_of(values[i], steps.each) + kNibbleZero);
            std::uint8_t &both = code[nibble_byte(i)];
            both = static_cast<std::uint8_t>(is_high_nibble(i) ? (both & 15u) | nibble << 4 : (both & 240u) | nibble);
        }
        return {code, 1.0f / (steps.product * vector.scale), Form::Nibbles, vector.form};
    }

    std::int8_t *room(Wide &code) const {
        code.resize(kSumBytes + wide_bytes_);
        return code.data();
    }

    // Of a vector of float16 or float32.
    Values values_of(const Slot &vector) const {
        Values values((dimensions_ + 7) / 8 * 8);
        if (vector.form == Form::Half) widen(static_cast<const std::uint16_t *>(vector.data), values.data(), dimensions_);
        else std::memcpy(values.data(), vector.data, dimensions_ * sizeof(float));
        return values;
    }

    static int nibble_of(float value, float steps) {
        float whole = value * steps;
        whole = whole > kNibbleMost ? kNibbleMost : whole;
        whole = whole < -kNibbleMost ? -kNibbleMost : whole;
        return static_cast<int>(whole + (kNibbleZero + 0.5f)) - kNibbleZero;  // a cast rounds down what is positive
    }

    Steps best_steps(const Values &values) const {
        Steps best{0, -1, 0};
        float greatest = 0, squares = 0;
        for (std::size_t i = 0; i < dimensions_; ++i) {
            greatest = std::max(greatest, std::fabs(values[i]));
            squares += values[i] * values[i];
        }
        if (dimensions_ < kFewDimensions || greatest <= 0) return best;
        for (const float clip : kClips) {
            const float steps = kNibbleMost / (greatest * clip);
            float products[8] = {0}, product = 0;
            std::int32_t lengths[8] = {0}, length = 0;
            for (std::size_t i = 0; i < dimensions_; i += 8) {
                for (std::size_t lane = 0; lane < 8; ++lane) {
                    const int nibble = nibble_of(values[i + lane], steps);
                    products[lane] += values[i + lane] * static_cast<float>(nibble);
                    lengths[lane] += nibble * nibble;
                }
            }
            for (std::size_t lane = 0; lane < 8; ++lane) {
                product += products[lane];
                length += lengths[lane];
            }
            const float cosine = product / std::sqrt(squares * static_cast<float>(length));
            if (cosine > best.cosine) best = {steps, cosine, product};
        }
        return best;
    }

    // Writes a code of eight bits, with its sum before it, to `room`.
    Slot wide(const Slot &vector, const Values &values, std::int8_t *room) const {
        std::int8_t *code = room + kSumBytes;
        std::int32_t sum = 0;
        float greatest = 0;
        for (const float value : values) greatest = std::max(greatest, std::fabs(value));
        const float steps = greatest > 0 ? 127.0f / greatest : 0.0f;
        for (std::size_t i = 0; i < dimensions_; ++i) {
            const int whole = static_cast<int>(values[i] * steps + 128.5f) - 128;
            code[i] = static_cast<std::int8_t>(whole);
            sum += whole;
        }
        std::memcpy(room, &sum, kSumBytes);
        std::fill(code + dimensions_, code + wide_bytes_, std::int8_t{0});
        return {code, greatest > 0 ? vector.scale / steps : 0.0f, Form::Code, vector.form};
    }

    std::size_t dimensions_, wide_bytes_;
    CodePool wide_, narrow_;
};

}  // namespace hnswlib
