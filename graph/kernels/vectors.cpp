// Immutable byte strings whose contents can move from memory into files: vectors/arena.hpp. The Python side is
// graph/vector_store.py.
//
// It is a type of its own and no pybind11 class, because an object takes 32 bytes, and making one costs what making
// `bytes` costs. All state is guarded by the interpreter lock.

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <cstring>

#include "vectors/arena.hpp"
#include "vectors/text_column.hpp"

namespace {

struct Stored {
    PyObject_HEAD
    const char* data;
    vectors::Chunk* chunk;
};

PyTypeObject type = {PyVarObject_HEAD_INIT(nullptr, 0)};
vectors::Arena& arena = *new vectors::Arena;  // never destroyed: objects may outlive the module
bool storing = false;
constexpr Py_ssize_t kLeastVaried = 32;  // the size of an object of stored bytes

Stored* stored_of(PyObject* self) { return reinterpret_cast<Stored*>(self); }
Py_ssize_t size_of(PyObject* self) {
    return static_cast<Py_ssize_t>(vectors::Arena::size_of(*stored_of(self)->chunk, stored_of(self)->data));
}

const char* data_of(PyObject* self) {
    arena.count_read(*stored_of(self)->chunk);
    return stored_of(self)->data;
}

// The contents of `bytes` or of stored bytes; false for any other object.
bool contents(PyObject* object, const char*& data, Py_ssize_t& size) {
    const bool stored = Py_TYPE(object) == &type;
    if (!stored && !PyBytes_Check(object)) return false;
    data = stored ? data_of(object) : PyBytes_AS_STRING(object);
    size = stored ? size_of(object) : PyBytes_GET_SIZE(object);
    return true;
}

PyObject* not_bytes(PyObject* given) {
    return PyErr_Format(PyExc_TypeError, "expected bytes, got %s", Py_TYPE(given)->tp_name);
}

template <bool varied>
PyObject* store(PyObject*, PyObject* given) {
    const char* data;
    Py_ssize_t size;
    if (!contents(given, data, size)) return not_bytes(given);
    if (!storing || !size || Py_TYPE(given) == &type) return Py_NewRef(given);
    if (varied && (size < kLeastVaried || static_cast<std::size_t>(size) > vectors::Arena::kMostVaried)) return Py_NewRef(given);
    Stored* made = PyObject_New(Stored, &type);
    if (!made) return nullptr;
    try {
        const auto wanted = static_cast<std::size_t>(size);
        char* slot = varied ? arena.take_varied(wanted, made->chunk) : arena.take(wanted, made->chunk);
        std::memcpy(slot, data, static_cast<std::size_t>(size));
        made->data = slot;
    } catch (const std::bad_alloc&) {
        PyObject_Free(made);
        return PyErr_NoMemory();
    }
    return reinterpret_cast<PyObject*>(made);
}

void deallocate(PyObject* self) {
    arena.give_back(*stored_of(self)->chunk, stored_of(self)->data);
    PyObject_Free(self);
}

int buffer(PyObject* self, Py_buffer* view, int flags) {
    return PyBuffer_FillInfo(view, self, const_cast<char*>(data_of(self)), size_of(self), 1, flags);
}

PyObject* compare(PyObject* self, PyObject* other, int operation) {
    const char* data;
    Py_ssize_t size;
    if ((operation != Py_EQ && operation != Py_NE) || !contents(other, data, size)) Py_RETURN_NOTIMPLEMENTED;
    const bool equal = self == other || (size == size_of(self) && !std::memcmp(data, data_of(self), size));
    return PyBool_FromLong(equal == (operation == Py_EQ));
}

PyObject* as_bytes(PyObject* self, PyObject*) { return PyBytes_FromStringAndSize(data_of(self), size_of(self)); }

Py_hash_t hash(PyObject* self) {
    PyObject* copy = as_bytes(self, nullptr);
    if (!copy) return -1;
    const Py_hash_t found = PyObject_Hash(copy);
    Py_DECREF(copy);
    return found;
}

PyObject* reduce(PyObject* self, PyObject*) { return Py_BuildValue("O(N)", &PyBytes_Type, as_bytes(self, nullptr)); }

PyObject* sizeof_(PyObject* self, PyObject*) { return PyLong_FromSsize_t(type.tp_basicsize + size_of(self)); }

PyObject* decoded(vectors::Bytes text) {
    return PyUnicode_DecodeUTF8(text.data, static_cast<Py_ssize_t>(text.size), "surrogatepass");
}

bool bytes_of(PyObject* given, vectors::Bytes& found) {
    Py_ssize_t size;
    if (!contents(given, found.data, size)) return not_bytes(given);
    found.size = static_cast<std::size_t>(size);
    return true;
}

PyObject* text(PyObject*, PyObject* given) {
    vectors::Bytes found;
    return bytes_of(given, found) ? decoded(found) : nullptr;
}

PyObject* text_in(const vectors::TextColumn& column, std::size_t row) {
    vectors::Bytes found;
    if (column.find(row, found)) return decoded(found);
    PyErr_SetString(PyExc_ValueError, "the column is not one of this text");
    return nullptr;
}

PyObject* text_at(PyObject*, PyObject* const* given, Py_ssize_t number) {
    vectors::Bytes bytes, around;
    if (number != 3) return PyErr_Format(PyExc_TypeError, "expected 3 arguments, got %zd", number);
    if (!bytes_of(given[0], bytes) || !bytes_of(given[2], around)) return nullptr;
    const std::size_t row = PyLong_AsSize_t(given[1]);
    if (row == static_cast<std::size_t>(-1) && PyErr_Occurred()) return nullptr;
    const vectors::TextColumn column(bytes, around);
    if (!column.is_valid() || row >= column.rows()) return PyErr_Format(PyExc_IndexError, "the column has no row %zu", row);
    return text_in(column, row);
}

PyObject* texts(PyObject*, PyObject* const* given, Py_ssize_t number) {
    vectors::Bytes bytes, around;
    if (number != 2) return PyErr_Format(PyExc_TypeError, "expected 2 arguments, got %zd", number);
    if (!bytes_of(given[0], bytes) || !bytes_of(given[1], around)) return nullptr;
    const vectors::TextColumn column(bytes, around);
    if (!column.is_valid()) return PyErr_Format(PyExc_ValueError, "the bytes are no column");
    PyObject* found = PyTuple_New(static_cast<Py_ssize_t>(column.rows()));
    for (std::size_t row = 0; found && row < column.rows(); ++row) {
        PyObject* read = text_in(column, row);
        if (read) PyTuple_SET_ITEM(found, static_cast<Py_ssize_t>(row), read);
        else Py_CLEAR(found);
    }
    return found;
}

PyObject* keep_in_arena(PyObject*, PyObject* on) {
    const int wanted = PyObject_IsTrue(on);
    if (wanted < 0) return nullptr;
    storing = wanted;
    Py_RETURN_NONE;
}

PyObject* failure(int error, const std::string& folder) {
    errno = error;
    PyObject* name = PyUnicode_DecodeFSDefaultAndSize(folder.data(), static_cast<Py_ssize_t>(folder.size()));
    PyErr_SetFromErrnoWithFilenameObject(PyExc_OSError, name);
    Py_XDECREF(name);
    return nullptr;
}

bool folder_of(PyObject* given, std::string& folder) {
    PyObject* encoded;
    if (!PyUnicode_FSConverter(given, &encoded)) return false;
    folder.assign(PyBytes_AS_STRING(encoded), static_cast<std::size_t>(PyBytes_GET_SIZE(encoded)));
    Py_DECREF(encoded);
    return true;
}

PyObject* probe(PyObject*, PyObject* given) {
    std::string folder;
    if (!folder_of(given, folder)) return nullptr;
    const int error = vectors::probe(folder);
    if (error) return failure(error, folder);
    Py_RETURN_NONE;
}

PyObject* spill(PyObject*, PyObject* arguments) {
    PyObject* given;
    unsigned long long min_free;
    std::string folder;
    if (!PyArg_ParseTuple(arguments, "OK", &given, &min_free) || !folder_of(given, folder)) return nullptr;
    std::vector<vectors::Chunk*> due = arena.begin_spill();
    std::size_t bytes = 0;
    int error = 0;
    for (vectors::Chunk* chunk : due) {
        if (!error) {
            Py_BEGIN_ALLOW_THREADS;
            error = vectors::Arena::write_out(*chunk, folder, min_free);
            Py_END_ALLOW_THREADS;
            if (!error) bytes += chunk->bytes;
            arena.written(*chunk, !error);
        } else {
            arena.written(*chunk, false);
        }
    }
    return error ? failure(error, folder) : PyLong_FromSize_t(bytes);
}

PyObject* release(PyObject*, PyObject* given) {
    const std::size_t most = PyLong_AsSize_t(given);
    if (most == static_cast<std::size_t>(-1) && PyErr_Occurred()) return nullptr;
    return PyLong_FromSize_t(arena.release(most));
}

PyObject* bound_reads(PyObject*, PyObject* given) {
    const std::size_t bytes = PyLong_AsSize_t(given);
    if (bytes == static_cast<std::size_t>(-1) && PyErr_Occurred()) return nullptr;
    arena.bound_reads(bytes);
    Py_RETURN_NONE;
}

PyObject* statistics(PyObject*, PyObject*) {
    const vectors::Statistics found = arena.statistics();
    return Py_BuildValue("(nnnn)", found.live_bytes, found.anonymous_bytes, found.mapped_bytes, found.chunks);
}

PyMethodDef methods[] = {
    {"__bytes__", as_bytes, METH_NOARGS, nullptr},
    {"__reduce__", reduce, METH_NOARGS, nullptr},
    {"__sizeof__", sizeof_, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};
PyMethodDef functions[] = {
    {"store", store<false>, METH_O, nullptr},
    {"store_varied", store<true>, METH_O, nullptr},
    {"text", text, METH_O, nullptr},
    {"text_at", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(text_at)), METH_FASTCALL, nullptr},
    {"texts", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(texts)), METH_FASTCALL, nullptr},
    {"keep_in_arena", keep_in_arena, METH_O, nullptr},
    {"probe", probe, METH_O, nullptr},
    {"spill", spill, METH_VARARGS, nullptr},
    {"release", release, METH_O, nullptr},
    {"bound_reads", bound_reads, METH_O, nullptr},
    {"statistics", statistics, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};
PySequenceMethods sequence = {};
PyBufferProcs buffers = {buffer, nullptr};
PyModuleDef module = {PyModuleDef_HEAD_INIT, "_vectors", nullptr, -1, functions, nullptr, nullptr, nullptr, nullptr};

}  // namespace

PyMODINIT_FUNC PyInit__vectors() {
    sequence.sq_length = size_of;
    type.tp_name = "graphtide.graph._vectors.StoredBytes";
    type.tp_basicsize = sizeof(Stored);
    type.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION;
    type.tp_dealloc = deallocate;
    type.tp_richcompare = compare;
    type.tp_hash = hash;
    type.tp_as_sequence = &sequence;
    type.tp_as_buffer = &buffers;
    type.tp_methods = methods;
    if (PyType_Ready(&type) < 0) return nullptr;
    PyObject* made = PyModule_Create(&module);
    if (made && PyModule_AddObjectRef(made, "StoredBytes", reinterpret_cast<PyObject*>(&type)) < 0) Py_CLEAR(made);
    return made;
}
