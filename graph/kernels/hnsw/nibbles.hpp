// Codes of four bits a coordinate, and their products.
//
// A coordinate is a whole number from -7 to 7, stored as 1 to 15. 64 coordinates are in 32 bytes: the low four bits of
// byte j are coordinate j, the high ones coordinate 32 + j. The last block is filled with zeros (8). A code of eight bits
// that is multiplied with one of four is followed by zeros up to the end of that block, and preceded by the sum of its
// coordinates: a product of what is stored is greater by 8 times that sum. Products are whole numbers, so they are the
// same with any instructions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace hnswlib {

constexpr std::size_t kNibbleBlock = 64, kHalfBlock = kNibbleBlock / 2;
constexpr int kNibbleZero = 8, kNibbleMost = 7;

inline std::size_t nibble_blocks(std::size_t dimensions) { return (dimensions + kNibbleBlock - 1) / kNibbleBlock; }
inline std::size_t nibble_bytes(std::size_t dimensions) { return nibble_blocks(dimensions) * kHalfBlock; }

inline std::size_t nibble_byte(std::size_t i) { return i / kNibbleBlock * kHalfBlock + i % kHalfBlock; }
inline bool is_high_nibble(std::size_t i) { return i % kNibbleBlock >= kHalfBlock; }

// The sum of the coordinates of a code of eight bits, which precedes it.
constexpr std::size_t kSumBytes = sizeof(std::int32_t);
inline std::int32_t sum_before(const std::int8_t *code) {
    std::int32_t sum;
    std::memcpy(&sum, code - kSumBytes, kSumBytes);
    return sum;
}

// In whole blocks, as compilers turn them into instructions for several coordinates.
inline std::int32_t plain_product_with_nibbles(const std::int8_t *code, const std::uint8_t *nibbles, std::size_t size) {
    std::int32_t sum = 0;
    for (std::size_t block = 0; block < nibble_blocks(size); ++block) {
        const std::uint8_t *both = nibbles + block * kHalfBlock;
        const std::int8_t *at = code + block * kNibbleBlock;
        for (std::size_t j = 0; j < kHalfBlock; ++j)
            sum += at[j] * ((both[j] & 15) - kNibbleZero) + at[kHalfBlock + j] * ((both[j] >> 4) - kNibbleZero);
    }
    return sum;
}

inline std::int32_t plain_product_of_nibbles(const std::uint8_t *a, const std::uint8_t *b, std::size_t size) {
    std::int32_t sum = 0;
    for (std::size_t j = 0; j < nibble_bytes(size); ++j) {
        sum += ((a[j] & 15) - kNibbleZero) * ((b[j] & 15) - kNibbleZero);
        sum += ((a[j] >> 4) - kNibbleZero) * ((b[j] >> 4) - kNibbleZero);
    }
    return sum;
}

#if defined(__x86_64__)
#define GRAPHTIDE_AVX2 __attribute__((target("avx2")))

GRAPHTIDE_AVX2 inline __m256i thirty_two(const void *data) {
    return _mm256_loadu_si256(static_cast<const __m256i *>(data));
}

// The low, or the high, coordinates of a block.
GRAPHTIDE_AVX2 inline __m256i low_nibbles(__m256i both) {
    return _mm256_sub_epi8(_mm256_and_si256(both, _mm256_set1_epi8(15)), _mm256_set1_epi8(kNibbleZero));
}
GRAPHTIDE_AVX2 inline __m256i high_nibbles(__m256i both) { return low_nibbles(_mm256_srli_epi16(both, 4)); }

// Adds pairs of 16-bit sums to eight sums.
GRAPHTIDE_AVX2 inline __m256i widened_sums(__m256i sums, __m256i narrow) {
    return _mm256_add_epi32(sums, _mm256_madd_epi16(narrow, _mm256_set1_epi16(1)));
}

GRAPHTIDE_AVX2 inline std::int32_t total(__m256i sums) {
    __m128i half = _mm_add_epi32(_mm256_castsi256_si128(sums), _mm256_extracti128_si256(sums, 1));
    half = _mm_add_epi32(half, _mm_shuffle_epi32(half, 0x4e));
    return _mm_cvtsi128_si32(_mm_add_epi32(half, _mm_shuffle_epi32(half, 0xb1)));
}

// The greatest sum of two products is 2 * 15 * 127, so those of four blocks, eight of them, fit in 16 bits.
GRAPHTIDE_AVX2 inline std::int32_t vector_product_with_nibbles(const std::int8_t *code, const std::uint8_t *nibbles,
                                                               std::size_t size) {
    const __m256i low = _mm256_set1_epi8(15);
    __m256i sums = _mm256_setzero_si256();
    for (std::size_t block = 0, count = nibble_blocks(size); block < count;) {
        __m256i narrow = _mm256_setzero_si256();
        for (const std::size_t end = block + 4 < count ? block + 4 : count; block < end; ++block) {
            const __m256i both = thirty_two(nibbles + block * kHalfBlock);
            const std::int8_t *at = code + block * kNibbleBlock;
            const __m256i high = _mm256_and_si256(_mm256_srli_epi16(both, 4), low);
            narrow = _mm256_add_epi16(narrow, _mm256_maddubs_epi16(_mm256_and_si256(both, low), thirty_two(at)));
            narrow = _mm256_add_epi16(narrow, _mm256_maddubs_epi16(high, thirty_two(at + kHalfBlock)));
        }
        sums = widened_sums(sums, narrow);
    }
    return total(sums) - kNibbleZero * sum_before(code);
}

// The products of 32 pairs, by two: at most 2 * 7 * 7, so those of 300 blocks fit in 16 bits.
GRAPHTIDE_AVX2 inline __m256i nibble_products(__m256i one, __m256i other) {
    return _mm256_maddubs_epi16(_mm256_abs_epi8(one), _mm256_sign_epi8(other, one));
}

GRAPHTIDE_AVX2 inline std::int32_t vector_product_of_nibbles(const std::uint8_t *a, const std::uint8_t *b, std::size_t size) {
    __m256i sums = _mm256_setzero_si256();
    for (std::size_t block = 0, count = nibble_blocks(size); block < count;) {
        __m256i narrow = _mm256_setzero_si256();
        for (const std::size_t end = block + 128 < count ? block + 128 : count; block < end; ++block) {
            const std::size_t at = block * kHalfBlock;
            const __m256i one = thirty_two(a + at), other = thirty_two(b + at);
            narrow = _mm256_add_epi16(narrow, nibble_products(low_nibbles(one), low_nibbles(other)));
            narrow = _mm256_add_epi16(narrow, nibble_products(high_nibbles(one), high_nibbles(other)));
        }
        sums = widened_sums(sums, narrow);
    }
    return total(sums);
}

inline bool has_avx2() {
    static const bool found = __builtin_cpu_supports("avx2");
    return found;
}
#endif

// The products of a code of eight bits and one of four, and of two of four, with the instructions of this machine unless
// `plain`.
inline std::int32_t product_with_nibbles(const std::int8_t *code, const std::uint8_t *nibbles, std::size_t size, bool plain) {
#if defined(__x86_64__)
    if (!plain && has_avx2()) return vector_product_with_nibbles(code, nibbles, size);
#endif
    return plain_product_with_nibbles(code, nibbles, size);
}

inline std::int32_t product_of_nibbles(const std::uint8_t *a, const std::uint8_t *b, std::size_t size, bool plain) {
#if defined(__x86_64__)
    if (!plain && has_avx2()) return vector_product_of_nibbles(a, b, size);
#endif
    return plain_product_of_nibbles(a, b, size);
}

}  // namespace hnswlib
