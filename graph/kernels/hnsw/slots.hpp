// Slots: the vectors of an index, by reference, and their inner product.
//
// A vector is float16 of any length with the inverse of that length, float32 of unit length, or a code of one of these, of
// 8 or 4 bits a coordinate (codes.hpp). A product is summed in float32 in a fixed order, of two codes in whole numbers, so
// it depends on the two vectors alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <stdexcept>

#include "nibbles.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace hnswlib {

enum class Form : std::uint8_t { Wide, Half, Code, Nibbles };

struct Slot {
    const void *data{nullptr};
    float scale{1.0f};
    Form form{Form::Wide};  // of the data
    Form row{Form::Wide};   // of the row that a code is made of
    std::uint16_t deleted{0};
};

// The bytes of a coordinate of a row.
inline std::size_t bytes_of(Form form) { return form == Form::Wide ? 4 : form == Form::Half ? 2 : 1; }

// The bytes of a vector.
inline std::size_t bytes_of(Form form, std::size_t dimensions) {
    return form == Form::Nibbles ? nibble_bytes(dimensions) : dimensions * bytes_of(form);
}

// Stands in for the lock of an element where the owner excludes writers.
struct NoLock {
    void lock() {}
    void unlock() {}
};

struct NoLocks {
    NoLock lock;
    NoLock &operator[](std::size_t) { return lock; }
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
inline float at(const std::int8_t *data, std::size_t i) { return static_cast<float>(data[i]); }

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

// The product of two codes: below 2^31 for up to 133,000 coordinates.
inline float plain_product(const std::int8_t *a, const std::int8_t *b, std::size_t size) {
    std::int32_t sum = 0;
    for (std::size_t i = 0; i < size; ++i) sum += a[i] * b[i];
    return static_cast<float>(sum);
}

#if defined(__x86_64__)
#define GRAPHTIDE_F16C __attribute__((target("avx2,fma,f16c")))

GRAPHTIDE_F16C inline __m256 eight(const float *data) { return _mm256_loadu_ps(data); }
GRAPHTIDE_F16C inline __m256 eight(const std::uint16_t *data) {
    return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i *>(data)));
}
GRAPHTIDE_F16C inline __m256 eight(const std::int8_t *data) {
    return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i *>(data))));
}
GRAPHTIDE_F16C inline __m256i sixteen(const std::int8_t *data) {
    return _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i *>(data)));
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

GRAPHTIDE_F16C inline float vector_product(const std::int8_t *a, const std::int8_t *b, std::size_t size) {
    __m256i one = _mm256_setzero_si256(), two = one;
    std::size_t i = 0;
    for (; i + 32 <= size; i += 32) {
        one = _mm256_add_epi32(one, _mm256_madd_epi16(sixteen(a + i), sixteen(b + i)));
        two = _mm256_add_epi32(two, _mm256_madd_epi16(sixteen(a + i + 16), sixteen(b + i + 16)));
    }
    std::int32_t sums[8], sum = 0;
    _mm256_storeu_si256(reinterpret_cast<__m256i *>(sums), _mm256_add_epi32(one, two));
    for (const std::int32_t each : sums) sum += each;
    for (; i < size; ++i) sum += a[i] * b[i];
    return static_cast<float>(sum);
}

GRAPHTIDE_F16C inline void vector_widen(const std::uint16_t *halves, float *values, std::size_t size) {
    std::size_t i = 0;
    for (; i + 8 <= size; i += 8) _mm256_storeu_ps(values + i, eight(halves + i));
    for (; i < size; ++i) values[i] = widened(halves[i]);
}

inline bool has_f16c() {
    static const bool found = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c");
    return found;
}
#endif

// Writes float16 as float32, exactly.
inline void widen(const std::uint16_t *halves, float *values, std::size_t size) {
#if defined(__x86_64__)
    if (has_f16c()) return vector_widen(halves, values, size);
#endif
    for (std::size_t i = 0; i < size; ++i) values[i] = widened(halves[i]);
}

template <typename A, typename B>
float product(const A *a, const B *b, std::size_t size) {
#if defined(__x86_64__)
    if (has_f16c()) return vector_product(a, b, size);
#endif
    return plain_product(a, b, size);
}

struct Fastest {
    static constexpr bool plain = false;
    template <typename A, typename B>
    static float of(const A *a, const B *b, std::size_t size) { return product(a, b, size); }
};

struct Plain {
    static constexpr bool plain = true;
    template <typename A, typename B>
    static float of(const A *a, const B *b, std::size_t size) { return plain_product(a, b, size); }
};

// The product of two codes, of which `nibbles` has four bits.
inline float nibble_product(const Slot &code, const Slot &nibbles, std::size_t size, bool plain) {
    const auto *data = static_cast<const std::uint8_t *>(nibbles.data);
    if (code.form == Form::Nibbles)
        return static_cast<float>(product_of_nibbles(static_cast<const std::uint8_t *>(code.data), data, size, plain));
    return static_cast<float>(product_with_nibbles(static_cast<const std::int8_t *>(code.data), data, size, plain));
}

template <typename Product, typename A>
float product_with(const A *data, const Slot &other, std::size_t size) {
    switch (other.form) {
        case Form::Wide: return Product::of(data, static_cast<const float *>(other.data), size);
        case Form::Half: return Product::of(data, static_cast<const std::uint16_t *>(other.data), size);
        default: return Product::of(data, static_cast<const std::int8_t *>(other.data), size);
    }
}

// Returns 1 minus the cosine of two slots.
template <typename Product>
float distance_by(const Slot &one, const Slot &other, std::size_t size) {
    float sum;
    if (other.form == Form::Nibbles) sum = nibble_product(one, other, size, Product::plain);
    else switch (one.form) {
        case Form::Wide: sum = product_with<Product>(static_cast<const float *>(one.data), other, size); break;
        case Form::Half: sum = product_with<Product>(static_cast<const std::uint16_t *>(one.data), other, size); break;
        case Form::Nibbles: sum = nibble_product(other, one, size, Product::plain); break;
        default: sum = product_with<Product>(static_cast<const std::int8_t *>(one.data), other, size);
    }
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
