// Rows: vectors that a kernel holds by reference.
//
// A row is a NumPy array of float16, of any length, or of float32, of unit length. No copy is made: a kernel keeps the
// array, or if that is an array over the whole of a bytes object (or of stored bytes, vectors.cpp), the bytes, which take
// less memory.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <cmath>
#include <utility>
#include <vector>

#include "../vectors/contents.hpp"
#include "slots.hpp"

namespace hnswlib {

namespace py = pybind11;

using Row = py::array;

inline py::dtype half_type() { return py::dtype("float16"); }

// Returns the row. Raises TypeError or ValueError for anything else, and for another number of dimensions.
inline Row checked_row(const py::handle &given, std::size_t dimensions) {
    if (!py::isinstance<py::array>(given)) throw py::type_error("a row must be an array");
    Row row = py::reinterpret_borrow<Row>(given);
    const bool half = row.dtype().is(half_type()) || row.dtype().equal(half_type());
    if (!half && !py::isinstance<py::array_t<float>>(row)) throw py::type_error("a row must be float16 or float32");
    if (row.ndim() != 1 || static_cast<std::size_t>(row.shape(0)) != dimensions)
        throw std::invalid_argument("a row has another number of dimensions");
    if (row.strides(0) != row.itemsize()) throw std::invalid_argument("a row must be contiguous");
    return row;
}

// Returns the object to hold for a row.
inline py::object owner_of(const Row &row) {
    const py::object base = row.base();
    const auto [data, size] = base ? vectors::contents(base) : std::pair<const char *, py::ssize_t>{nullptr, 0};
    return data && data == row.data() && size == row.nbytes() ? base : py::object(row);
}

// Returns the row of a held object; one that is held as bytes as an array over them that cannot be written to.
inline Row row_of(const py::object &held, Form form, std::size_t dimensions) {
    const char *data = vectors::contents(held).first;
    if (!data) return py::reinterpret_borrow<Row>(held);
    const std::vector<py::ssize_t> shape{static_cast<py::ssize_t>(dimensions)}, strides{form == Form::Half ? 2 : 4};
    Row made(form == Form::Half ? half_type() : py::dtype::of<float>(), shape, strides, data, held);
    py::detail::array_proxy(made.ptr())->flags &= ~py::detail::npy_api::NPY_ARRAY_WRITEABLE_;
    return made;
}

// Returns the address of the row of a held object, which lives as long as the object.
inline const void *data_of(const py::object &held) {
    const char *data = vectors::contents(held).first;
    return data ? data : py::reinterpret_borrow<Row>(held).data();
}

inline Form form_of(const Row &row) { return row.itemsize() == 2 ? Form::Half : Form::Wide; }

inline Slot slot_at(const void *data, Form form, std::size_t dimensions) {
    Slot slot{data, 1.0f, form, form};
    if (form == Form::Wide) return slot;
    const auto *half = static_cast<const std::uint16_t *>(slot.data);
    double squares = 0;
    for (std::size_t i = 0; i < dimensions; ++i) {
        const double value = widened(half[i]);
        squares += value * value;
    }
    slot.scale = static_cast<float>(1.0 / std::sqrt(squares));
    return slot;
}

inline Slot slot_of(const Row &row, std::size_t dimensions) {
    return slot_at(row.data(), form_of(row), dimensions);
}

}  // namespace hnswlib
