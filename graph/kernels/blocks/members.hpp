// The members of one block: labels with their roles, for blocks of two or more.
//
// A few members are a sorted array. More are a hash table, so that a change of a block of any size costs the same.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

namespace blocks {

using Label = std::int64_t;
using Role = std::uint8_t;

struct Member {
    Label label;
    Role role;
};

class Members {
 public:
    void put(Label label, Role role) {
        if (many_) {
            (*many_)[label] = role;
            return;
        }
        auto at = place(label);
        if (at != few_.end() && at->label == label) {
            at->role = role;
        } else if (few_.size() < FEW) {
            few_.insert(at, {label, role});
        } else {
            many_ = std::make_unique<std::unordered_map<Label, Role>>();
            for (const Member& each : few_) many_->emplace(each.label, each.role);
            many_->emplace(label, role);
            few_ = {};
        }
    }

    void erase(Label label) {
        if (!many_) {
            few_.erase(place(label));
            return;
        }
        many_->erase(label);
        if (many_->size() > FEW / 2) return;
        for (const auto& [each, role] : *many_) few_.push_back({each, role});
        std::sort(few_.begin(), few_.end(), [](const Member& a, const Member& b) { return a.label < b.label; });
        many_.reset();
    }

    std::size_t size() const { return many_ ? many_->size() : few_.size(); }

    template <typename Visit>
    void each(Visit visit) const {
        if (many_)
            for (const auto& [label, role] : *many_) visit(label, role);
        else
            for (const Member& member : few_) visit(member.label, member.role);
    }

    std::size_t bytes() const {
        const std::size_t table = many_ ? many_->size() * 40 + many_->bucket_count() * 8 + sizeof(*many_) : 0;
        return few_.capacity() * sizeof(Member) + table;
    }

 private:
    static constexpr std::size_t FEW = 64;

    std::vector<Member>::iterator place(Label label) {
        return std::lower_bound(few_.begin(), few_.end(), label,
                                [](const Member& member, Label wanted) { return member.label < wanted; });
    }

    std::vector<Member> few_;
    std::unique_ptr<std::unordered_map<Label, Role>> many_;
};

}  // namespace blocks
