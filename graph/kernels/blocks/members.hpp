// The members of one block: labels with their roles, for blocks of two or more.
//
// A label and its role are one 32-bit number. Two members, as most blocks have, are held in place, and a few are a sorted
// array. More are a hash table, so that a change of a block of any size costs the same.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <utility>

namespace blocks {

using Label = std::int64_t;
using Role = std::uint8_t;

constexpr Label MAX_LABEL = (Label{1} << 29) - 1;
constexpr Role ROLES = 3;

struct Member {
    Label label;
    Role role;
};

class Members {
 public:
    Members() = default;
    Members(Members&& other) noexcept { swap(other); }
    Members& operator=(Members&& other) noexcept {
        Members(std::move(other)).swap(*this);
        return *this;
    }
    ~Members() {
        if (is_many())
            delete held_.many;
        else if (capacity_ > IN_PLACE)
            delete[] held_.few;
    }

    // The label is at most MAX_LABEL.
    void put(Label label, Role role) {
        if (is_many()) {
            (*held_.many)[label] = role;
            return;
        }
        Packed* at = place(label);
        if (at != end() && label_of(*at) == label) {
            *at = packed(label, role);
        } else if (count_ < FEW) {
            insert(at - begin(), packed(label, role));
        } else {
            Many many;
            each([&](Label known, Role held) { many.emplace(known, held); });
            many.emplace(label, role);
            *this = Members(std::move(many));
        }
    }

    // The label must be a member.
    void erase(Label label) {
        if (!is_many()) {
            Packed* at = place(label);
            std::copy(at + 1, end(), at);
            --count_;
            return;
        }
        held_.many->erase(label);
        if (held_.many->size() > FEW / 2) return;
        Members left;
        each([&](Label known, Role role) { left.put(known, role); });
        swap(left);
    }

    std::size_t size() const { return is_many() ? held_.many->size() : count_; }

    template <typename Visit>
    void each(Visit visit) const {
        if (is_many())
            for (const auto& [label, role] : *held_.many) visit(label, role);
        else
            for (const Packed* at = begin(); at != end(); ++at) visit(label_of(*at), static_cast<Role>(*at & ROLES));
    }

    // Without the object itself.
    std::size_t bytes() const {
        if (is_many()) return held_.many->size() * 40 + held_.many->bucket_count() * 8 + sizeof(Many);
        return capacity_ > IN_PLACE ? capacity_ * sizeof(Packed) : 0;
    }

 private:
    using Packed = std::uint32_t;
    using Many = std::unordered_map<Label, Role>;
    static constexpr std::uint32_t IN_PLACE = 2, FEW = 64;

    explicit Members(Many&& many) : capacity_(0) { held_.many = new Many(std::move(many)); }

    static Packed packed(Label label, Role role) { return static_cast<Packed>(label) << 2 | role; }
    static Label label_of(Packed member) { return member >> 2; }

    bool is_many() const { return capacity_ == 0; }
    const Packed* begin() const { return capacity_ > IN_PLACE ? held_.few : held_.two; }
    const Packed* end() const { return begin() + count_; }
    Packed* begin() { return capacity_ > IN_PLACE ? held_.few : held_.two; }
    Packed* end() { return begin() + count_; }

    Packed* place(Label label) { return std::lower_bound(begin(), end(), packed(label, 0)); }

    void insert(std::ptrdiff_t at, Packed member) {
        if (count_ == capacity_) grow();
        std::copy_backward(begin() + at, end(), end() + 1);
        begin()[at] = member;
        ++count_;
    }

    void grow() {
        const std::uint32_t capacity = capacity_ + capacity_ / 2 + 3;  // 6 members fill the smallest piece of malloc
        Packed* few = new Packed[capacity];
        std::copy(begin(), end(), few);
        if (capacity_ > IN_PLACE) delete[] held_.few;
        held_.few = few;
        capacity_ = capacity;
    }

    void swap(Members& other) noexcept {
        std::swap(count_, other.count_);
        std::swap(capacity_, other.capacity_);
        std::swap(held_, other.held_);
    }

    std::uint32_t count_ = 0;
    std::uint32_t capacity_ = IN_PLACE;  // 0 for a hash table
    union {
        Packed two[IN_PLACE];
        Packed* few;
        Many* many;
    } held_ = {};
};

}  // namespace blocks
