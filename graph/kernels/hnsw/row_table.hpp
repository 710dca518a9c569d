// The rows of an exact search, by place: it finds what is near a query, and its caller compares those exactly.
#pragma once

#include <cstddef>
#include <vector>

#include "rows.hpp"

namespace hnswlib {

class RowTable {
 public:
    explicit RowTable(std::size_t dimensions) : dimensions_(dimensions) {}

    std::size_t size() const { return slots_.size(); }

    // Holds a row at a place, which is at most the number of places.
    void set(std::size_t place, const py::handle &given) {
        const Row row = checked_row(given, dimensions_);
        if (place > size()) throw std::out_of_range("a place is skipped");
        if (place == size()) {
            slots_.emplace_back();
            held_.emplace_back();
        }
        slots_[place] = slot_of(row, dimensions_);
        held_[place] = owner_of(row);
    }

    // Frees the row of a place, which scores 0 until it is set again.
    void clear(std::size_t place) {
        slots_.at(place) = Slot{};
        held_.at(place) = py::object();
    }

    // Returns the row of a place that has one, see row_of.
    Row row(std::size_t place) const {
        if (!slots_.at(place).data) throw py::key_error("the place has no row");
        return row_of(held_[place], slots_[place].form, dimensions_);
    }

    // Returns the cosine of each of m unit queries (m, d) to each row, (m, n) float32, rounded as the distances of a
    // graph are: with an error of at most (d + 8) units in the last place of 1. Without the interpreter lock.
    py::array_t<float> scan(const py::array_t<float, py::array::c_style> &queries) const {
        if (queries.ndim() != 2 || static_cast<std::size_t>(queries.shape(1)) != dimensions_)
            throw std::invalid_argument("the queries have another number of dimensions");
        const auto count = static_cast<std::size_t>(queries.shape(0));
        py::array_t<float> scores({count, size()});
        const float *sought = queries.data();
        float *score = scores.mutable_data();
        const std::size_t rows = size();
        py::gil_scoped_release unlocked;
        for (std::size_t at = 0; at < rows; ++at) {  // a row is read once for all queries
            for (std::size_t query = 0; query < count; ++query) {
                const Slot slot{sought + query * dimensions_};
                score[query * rows + at] = slots_[at].data ? 1.0f - slot_distance(&slot, &slots_[at], &dimensions_) : 0.0f;
            }
        }
        return scores;
    }

    // The places; a vector is its holder's.
    std::size_t memory_bytes() const { return slots_.capacity() * sizeof(Slot) + held_.capacity() * sizeof(py::object); }

 private:
    std::size_t dimensions_;
    std::vector<Slot> slots_;
    std::vector<py::object> held_;
};

}  // namespace hnswlib
