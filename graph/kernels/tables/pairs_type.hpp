// A mapping from pairs of numbers to counts: the weights of edges.
//
// A `dict` with tuples as keys takes some 100 bytes an entry, this 18 to 23. The rest of a mapping is in
// number_table.py.

#pragma once

#include "pair_slots.hpp"
#include "table.hpp"

#include <new>

namespace {
namespace pair_counts {

struct Pairs {
    PyObject_HEAD
    PairSlots* slots;
};

inline PairSlots* slots_of(PyObject* self) { return reinterpret_cast<Pairs*>(self)->slots; }

struct Key {
    std::uint32_t u, v;
};

// Read a pair: 1, 0 for a key that no entry can have, -1 with an error set.
inline int pair_of(PyObject* key, Key* pair) {
    if (!PyTuple_Check(key) || PyTuple_GET_SIZE(key) != 2) return 0;
    const Py_ssize_t u = number_of(PyTuple_GET_ITEM(key, 0));
    const Py_ssize_t v = u == -2 ? -2 : number_of(PyTuple_GET_ITEM(key, 1));
    if (v == -2) return -1;
    *pair = {static_cast<std::uint32_t>(u), static_cast<std::uint32_t>(v)};
    return u >= 0 && v >= 0;
}

// The count of a pair; 0 if there is none, -1 with an error set.
inline std::int64_t count_of(PyObject* self, PyObject* key) {
    Key pair;
    const int found = pair_of(key, &pair);
    return found == 1 ? slots_of(self)->get(pair.u, pair.v) : found;
}

inline PyObject* subscript(PyObject* self, PyObject* key) {
    const std::int64_t count = count_of(self, key);
    return count > 0 ? PyLong_FromLongLong(count) : count ? nullptr : missing(key);
}

inline int assign(PyObject* self, PyObject* key, PyObject* value) {
    Key pair;
    const int found = pair_of(key, &pair);
    if (found == -1) return -1;
    if (!value && (!found || !slots_of(self)->get(pair.u, pair.v))) return missing(key), -1;
    const std::int64_t count = value ? PyLong_AsLongLong(value) : 0;
    if (count == -1 && PyErr_Occurred()) return -1;
    if (!found || (value && count <= 0)) {
        PyErr_Format(PyExc_ValueError, "%R is no pair of numbers, or its count %R is not positive", key, value);
        return -1;
    }
    try {
        slots_of(self)->set(pair.u, pair.v, count);
        return 0;
    } catch (const std::bad_alloc&) {
        PyErr_NoMemory();
        return -1;
    }
}

inline int contains(PyObject* self, PyObject* key) {
    const std::int64_t count = count_of(self, key);
    return count > 0 ? 1 : static_cast<int>(count);
}

inline Py_ssize_t length(PyObject* self) { return static_cast<Py_ssize_t>(slots_of(self)->size()); }

inline PyObject* get(PyObject* self, PyObject* const* given, Py_ssize_t count) {
    if (count < 1 || count > 2) {
        PyErr_SetString(PyExc_TypeError, "get takes a pair and a default");
        return nullptr;
    }
    const std::int64_t found = count_of(self, given[0]);
    if (found > 0) return PyLong_FromLongLong(found);
    return found ? nullptr : Py_NewRef(count == 2 ? given[1] : Py_None);
}

// The entries as int64 (n, 3), in no order: u, v, count.
inline PyObject* rows(PyObject* self, PyObject*) {
    const PairSlots* slots = slots_of(self);
    PyObject* made = PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(slots->size() * 3 * sizeof(std::int64_t)));
    if (!made) return nullptr;
    auto* at = reinterpret_cast<std::int64_t*>(PyBytes_AS_STRING(made));
    slots->each([&](const PairCount& entry) {
        *at++ = entry.u;
        *at++ = entry.v;
        *at++ = entry.count;
    });
    return made;
}

inline PyObject* size_of(PyObject* self, PyObject*) {
    const auto outside = sizeof(PairSlots) + slots_of(self)->bytes();
    return PyLong_FromSsize_t(Py_TYPE(self)->tp_basicsize + static_cast<Py_ssize_t>(outside));
}

inline PyObject* create(PyTypeObject* kind, PyObject*, PyObject*) {
    PyObject* self = kind->tp_alloc(kind, 0);
    if (!self) return nullptr;
    reinterpret_cast<Pairs*>(self)->slots = new (std::nothrow) PairSlots();
    if (slots_of(self)) return self;
    Py_DECREF(self);
    return PyErr_NoMemory();
}

inline void deallocate(PyObject* self) {
    delete slots_of(self);
    Py_TYPE(self)->tp_free(self);
}

inline PyMethodDef methods[] = {
    {"get", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(get)), METH_FASTCALL, nullptr},
    {"rows", rows, METH_NOARGS, nullptr},
    {"__sizeof__", size_of, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

inline PyMappingMethods mapping = {length, subscript, assign};
inline PySequenceMethods sequence = {};
inline PyTypeObject type = {PyVarObject_HEAD_INIT(nullptr, 0)};

inline bool add_type(PyObject* module) {
    sequence.sq_contains = contains;
    type.tp_name = "graphtide.graph._tables.Pairs";
    type.tp_basicsize = sizeof(Pairs);
    type.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE;
    type.tp_new = create;
    type.tp_dealloc = deallocate;
    type.tp_as_mapping = &mapping;
    type.tp_as_sequence = &sequence;
    type.tp_methods = methods;
    return PyType_Ready(&type) >= 0 && PyModule_AddObjectRef(module, "Pairs", reinterpret_cast<PyObject*>(&type)) >= 0;
}

}  // namespace pair_counts
}  // namespace
