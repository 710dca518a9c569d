// The entries of each label: a table from label to the place of an array that has exactly their size.
//
// Labels without entries are held too. An array begins with the number of its entries.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "members.hpp"
#include "table.hpp"

namespace blocks {

using Entry = std::uint64_t;

// The entries of one label, valid until these change.
struct EntrySpan {
    const Entry* first = nullptr;
    std::size_t count = 0;

    const Entry* begin() const { return first; }
    const Entry* end() const { return first + count; }
};

class LabelEntries {
 public:
    bool holds(Label label) { return places_.find(label) != nullptr; }

    // No entries for an unknown label.
    EntrySpan find(Label label) {
        const std::uint32_t* place = places_.find(label);
        if (!place) return {};
        const Array& held = arrays_[*place - 1];
        return {held.get() + 1, held[0]};
    }

    void put(Label label, const std::vector<Entry>& entries) {
        Array array(new Entry[entries.size() + 1]);
        array[0] = entries.size();
        std::copy(entries.begin(), entries.end(), array.get() + 1);
        const std::uint32_t* place = places_.find(label);
        if (place) {
            arrays_[*place - 1] = std::move(array);
        } else if (free_.empty()) {
            arrays_.push_back(std::move(array));
            places_.insert(label, static_cast<std::uint32_t>(arrays_.size()));
        } else {
            arrays_[free_.back() - 1] = std::move(array);
            places_.insert(label, free_.back());
            free_.pop_back();
        }
    }

    // The label must be held.
    void erase(Label label) {
        const std::uint32_t place = *places_.find(label);
        arrays_[place - 1].reset();
        free_.push_back(place);
        places_.erase(label);
    }

    std::size_t size() const { return places_.size(); }

    std::size_t bytes() const {
        std::size_t total = places_.bytes() + arrays_.capacity() * sizeof(Array) + free_.capacity() * 4;
        for (const Array& array : arrays_)
            if (array) total += (array[0] + 1) * sizeof(Entry);
        return total;
    }

 private:
    using Array = std::unique_ptr<Entry[]>;

    Table places_;
    std::vector<Array> arrays_;
    std::vector<std::uint32_t> free_;
};

}  // namespace blocks
