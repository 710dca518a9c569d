// SipHash-2-4 with a fixed key (Aumasson & Bernstein 2012): 64 bits of a block's key, the same in every process.
//
// A collision joins two blocks. Candidates stay a function of the set of live labels, with a few more of them; of 10^8
// keys two collide with a probability of about 0.002 (the index uses 61 bits).
#pragma once

#include <cstddef>
#include <cstdint>

namespace blocks {

inline std::uint64_t rotated(std::uint64_t x, int bits) { return (x << bits) | (x >> (64 - bits)); }

struct SipState {
    std::uint64_t a = 0x736f6d6570736575ULL, b = 0x646f72616e646f6dULL, c = 0x6c7967656e657261ULL,
                  d = 0x7465646279746573ULL;

    void round() {
        a += b, b = rotated(b, 13) ^ a, a = rotated(a, 32);
        c += d, d = rotated(d, 16) ^ c;
        a += d, d = rotated(d, 21) ^ a;
        c += b, b = rotated(b, 17) ^ c, c = rotated(c, 32);
    }

    void word(std::uint64_t given) {
        d ^= given;
        round(), round();
        a ^= given;
    }
};

inline std::uint64_t siphash(const char* text, std::size_t size) {
    SipState state;
    std::uint64_t word = 0;
    for (std::size_t at = 0; at < size; ++at) {
        word |= static_cast<std::uint64_t>(static_cast<unsigned char>(text[at])) << (8 * (at & 7));
        if ((at & 7) == 7) {
            state.word(word);
            word = 0;
        }
    }
    state.word(word | static_cast<std::uint64_t>(size) << 56);
    state.c ^= 0xff;
    for (int rounds = 0; rounds < 4; ++rounds) state.round();
    return state.a ^ state.b ^ state.c ^ state.d;
}

}  // namespace blocks
