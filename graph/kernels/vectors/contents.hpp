// The bytes of vectors, in either of the forms in which graph/vector_store.py holds them, for kernels that refer to them.

#pragma once

#include <pybind11/pybind11.h>

#include <utility>

namespace vectors {

namespace py = pybind11;

struct Module {
    py::object stored_bytes, store;
};

// The type and the function of vectors.cpp; never destroyed, as the interpreter may end first.
inline const Module &module() {
    static const Module *found = [] {
        const py::module_ kernel = py::module_::import("graphtide.graph._vectors");
        return new Module{kernel.attr("StoredBytes"), kernel.attr("store")};
    }();
    return *found;
}

// The address and size of bytes or of stored bytes, valid as long as the object lives; {nullptr, 0} for another object.
inline std::pair<const char *, py::ssize_t> contents(const py::object &held) {
    if (PyBytes_Check(held.ptr())) return {PyBytes_AS_STRING(held.ptr()), PyBytes_GET_SIZE(held.ptr())};
    if (reinterpret_cast<PyObject *>(Py_TYPE(held.ptr())) != module().stored_bytes.ptr()) return {nullptr, 0};
    Py_buffer view;
    if (PyObject_GetBuffer(held.ptr(), &view, PyBUF_SIMPLE) != 0) throw py::error_already_set();
    const std::pair<const char *, py::ssize_t> found{static_cast<const char *>(view.buf), view.len};
    PyBuffer_Release(&view);
    return found;
}

// Bytes to hold, which are in a chunk if vectors are kept in chunks.
inline py::object stored(const py::object &bytes) { return module().store(bytes); }

}  // namespace vectors
