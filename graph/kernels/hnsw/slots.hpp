// Slots: the vectors of an index, by reference, and their inner product.
//
// A vector is float16 of any length with the inverse of that length, or float32 of unit length. A product is summed in
// float32 in a fixed order, so it depends on the two vectors alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <stdexcept>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace hnswlib {

struct Slot {
    const void *data{nullptr};
    float scale{1.0f};
    std::uint16_t half{0};
    std::uint16_t deleted{0};
};

// Stands in for the lock of an element where the owner excludes writers.
struct NoLock {
    void lock() {}
    void unlock() {}
};

// The internal number of each label: the label itself.
class SequentialLabels {
 public:
    struct Entry {
        std::size_t first;
        unsigned int second;
    };
    class Iterator {
     public:
        Iterator(std::size_t label, bool end) : entry_{label, static_cast<unsigned int>(label)}, end_(end) {}
        const Entry *operator->() const { return &entry_; }
        bool operator==(const Iterator &other) const { return end_ == other.end_; }
        bool operator!=(const Iterator &other) const { return end_ != other.end_; }

     private:
        Entry entry_;
        bool end_;
    };
    class Place {
     public:
        Place(SequentialLabels &labels, std::size_t label) : labels_(labels), label_(label) {}
        void operator=(std::size_t number) {
            if (number != label_ || number != labels_.size_) throw std::runtime_error("a label is not the next one");
            ++labels_.size_;
        }

     private:
        SequentialLabels &labels_;
        std::size_t label_;
    };
    Iterator find(std::size_t label) const { return Iterator(label, label >= size_); }
    Iterator end() const { return Iterator(0, true); }
    Place operator[](std::size_t label) { return Place(*this, label); }

 private:
    std::size_t size_{0};
};

inline float widened(std::uint16_t half) {
    const std::uint32_t sign = static_cast<std::uint32_t>(half & 0x8000u) << 16;
    const std::uint32_t exponent = (half >> 10) & 31u, fraction = half & 1023u;
    if (exponent == 0) {
        const float small = static_cast<float>(fraction) * 5.9604644775390625e-8f;  // 2^-24
        return sign ? -small : small;
    }
    const std::uint32_t bits = sign | ((exponent == 31 ? 255u : exponent + 112u) << 23) | (fraction << 13);
    float value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
}

inline float at(const float *data, std::size_t i) { return data[i]; }
inline float at(const std::uint16_t *data, std::size_t i) { return widened(data[i]); }

template <typename A, typename B>
float plain_product(const A *a, const B *b, std::size_t size) {
    float sums[8] = {0};
    std::size_t i = 0;
    for (; i + 8 <= size; i += 8)
        for (std::size_t lane = 0; lane < 8; ++lane) sums[lane] += at(a, i + lane) * at(b, i + lane);
    float sum = ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
    for (; i < size; ++i) sum += at(a, i) * at(b, i);
    return sum;
}

#if defined(__x86_64__)
#define GRAPHTIDE_F16C __attribute__((target("avx2,fma,f16c")))

GRAPHTIDE_F16C inline __m256 eight(const float *data) { return _mm256_loadu_ps(data); }
GRAPHTIDE_F16C inline __m256 eight(const std::uint16_t *data) {
    return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i *>(data)));
}

template <typename A, typename B>
GRAPHTIDE_F16C float vector_product(const A *a, const B *b, std::size_t size) {
    __m256 one = _mm256_setzero_ps(), two = one, three = one, four = one;
    std::size_t i = 0;
    for (; i + 32 <= size; i += 32) {
        one = _mm256_fmadd_ps(eight(a + i), eight(b + i), one);
        two = _mm256_fmadd_ps(eight(a + i + 8), eight(b + i + 8), two);
        three = _mm256_fmadd_ps(eight(a + i + 16), eight(b + i + 16), three);
        four = _mm256_fmadd_ps(eight(a + i + 24), eight(b + i + 24), four);
    }
    for (; i + 8 <= size; i += 8) one = _mm256_fmadd_ps(eight(a + i), eight(b + i), one);
    float sums[8];
    _mm256_storeu_ps(sums, _mm256_add_ps(_mm256_add_ps(one, two), _mm256_add_ps(three, four)));
    float sum = ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
    for (; i < size; ++i) sum += at(a, i) * at(b, i);
    return sum;
}

inline bool has_f16c() {
    static const bool found = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c");
    return found;
}
#endif

template <typename A, typename B>
float product(const A *a, const B *b, std::size_t size) {
#if defined(__x86_64__)
    if (has_f16c()) return vector_product(a, b, size);
#endif
    return plain_product(a, b, size);
}

struct Fastest {
    template <typename A, typename B>
    static float of(const A *a, const B *b, std::size_t size) { return product(a, b, size); }
};

struct Plain {
    template <typename A, typename B>
    static float of(const A *a, const B *b, std::size_t size) { return plain_product(a, b, size); }
};

// Returns 1 minus the cosine of two slots.
template <typename Product>
float distance_by(const Slot &one, const Slot &other, std::size_t size) {
    const auto *wide = static_cast<const float *>(one.data), *other_wide = static_cast<const float *>(other.data);
    const auto *half = static_cast<const std::uint16_t *>(one.data);
    const auto *other_half = static_cast<const std::uint16_t *>(other.data);
    const float sum = one.half ? (other.half ? Product::of(half, other_half, size) : Product::of(other_wide, half, size))
                               : (other.half ? Product::of(wide, other_half, size) : Product::of(wide, other_wide, size));
    return 1.0f - sum * (one.scale * other.scale);
}

inline float plain_distance(const Slot &one, const Slot &other, std::size_t size) {
    return distance_by<Plain>(one, other, size);
}

// The distance function of the graph; `size` points to the number of coordinates.
inline float slot_distance(const void *a, const void *b, const void *size) {
    return distance_by<Fastest>(*static_cast<const Slot *>(a), *static_cast<const Slot *>(b),
                                *static_cast<const std::size_t *>(size));
}

}  // namespace hnswlib
