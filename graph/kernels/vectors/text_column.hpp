// The places of texts in UTF-8, most of which are parts of one larger text; graph/view_state/passage_rows.py writes them.
//
// A column is a head of 4 bytes, 2 * rows + (1 where places take 4 bytes, else 0); for each row the places where its text
// begins and ends; and the bytes that the larger text lacks, whose places continue those of the larger text. All numbers
// have the byte order of the machine, since columns are never stored.

#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace vectors {

struct Bytes {
    const char *data = nullptr;
    std::size_t size = 0;
};

class TextColumn {
 public:
    // Reads the head; `is_valid` returns whether the column has one, and places for its rows.
    TextColumn(Bytes column, Bytes around) : column_(column), around_(around) {
        std::uint32_t head = 0;
        if (column.size < sizeof head) return;
        std::memcpy(&head, column.data, sizeof head);
        rows_ = head / 2;
        width_ = head % 2 ? 4 : 2;
        valid_ = column.size >= rest();
    }

    bool is_valid() const { return valid_; }
    std::size_t rows() const { return rows_; }

    // Finds the text of a row of a valid column; returns whether its places are those of a text.
    bool find(std::size_t row, Bytes &text) const {
        const std::size_t start = place(2 * row), end = place(2 * row + 1);
        const bool is_own = end > around_.size;
        const Bytes from = is_own ? Bytes{column_.data + rest(), column_.size - rest()} : around_;
        const std::size_t first = is_own ? around_.size : 0;
        if (start > end || start < first || end - first > from.size) return false;
        text = {from.data + (start - first), end - start};
        return true;
    }

 private:
    std::size_t rest() const { return sizeof(std::uint32_t) + 2 * rows_ * width_; }

    std::size_t place(std::size_t at) const {
        const char *from = column_.data + sizeof(std::uint32_t) + at * width_;
        std::uint16_t narrow;
        std::uint32_t wide;
        if (width_ == 4) return std::memcpy(&wide, from, sizeof wide), wide;
        return std::memcpy(&narrow, from, sizeof narrow), narrow;
    }

    Bytes column_, around_;
    std::size_t rows_ = 0, width_ = 2;
    bool valid_ = false;
};

}  // namespace vectors
