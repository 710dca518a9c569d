// The order of scored nodes: highest first, equal scores by node.
//
// Positive doubles are ordered as their bits are, so a few of the upper bits distribute them among buckets that hold one or two
// each; what is below the last bucket is in it. Cost: linear for scores of a walk, at most that of a sort.

#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "neighbours.hpp"

namespace pagerank {

struct Scored {
    Node node;
    double score;  // above 0
};

class RankingSort {
 public:
    void run(std::vector<Scored>& scored) {
        if (scored.size() < kFew) return order(scored.data(), scored.data() + scored.size());
        std::uint64_t best = 0;
        for (const Scored& one : scored) best = std::max(best, bits(one));
        ends_.assign(kBuckets, 0);
        for (const Scored& one : scored) ++ends_[bucket(best, one)];
        std::uint32_t end = 0;
        for (std::uint32_t& at : ends_) {
            const std::uint32_t count = at;
            at = end;
            end += count;
        }
        sorted_.resize(scored.size());
        for (const Scored& one : scored) sorted_[ends_[bucket(best, one)]++] = one;
        std::uint32_t first = 0;
        for (const std::uint32_t last : ends_) {
            if (last - first > 1) order(sorted_.data() + first, sorted_.data() + last);
            first = last;
        }
        scored.swap(sorted_);
    }

 private:
    static constexpr std::size_t kFew = 64;
    static constexpr std::size_t kBuckets = 2048;
    static constexpr int kShift = 46;  // 64 buckets for each halving of the score

    static std::uint64_t bits(const Scored& one) {
        std::uint64_t held;
        std::memcpy(&held, &one.score, sizeof held);
        return held;
    }

    static std::size_t bucket(std::uint64_t best, const Scored& one) {
        return std::min<std::size_t>((best - bits(one)) >> kShift, kBuckets - 1);
    }

    static void order(Scored* first, Scored* last) {
        std::sort(first, last, [](const Scored& a, const Scored& b) {
            return a.score > b.score || (a.score == b.score && a.node < b.node);
        });
    }

    std::vector<std::uint32_t> ends_;
    std::vector<Scored> sorted_;
};

}  // namespace pagerank
