// An index of the rows of a table by key: the numbers of rows by the hash of what their attributes hold.
//
// It stores no keys: a lookup compares with the attributes of the rows that have its hash, of which a second one is
// rare. A `dict` takes 36 to 72 bytes an entry and its key tuples 56 or more, this 9 to 12. The rest of a mapping is in
// number_table.py.

#pragma once

#include "number_slots.hpp"
#include "table.hpp"  // includes Python.h, which structmember.h needs

#include <structmember.h>

#include <new>

namespace {
namespace key_index {

constexpr Py_ssize_t MAX_ATTRIBUTES = 3;

struct Index {
    PyObject_HEAD
    PyObject* rows;  // a Table
    PyObject* names[MAX_ATTRIBUTES];
    Py_ssize_t width;       // the number of attributes; the key of several is their tuple
    PyTypeObject* known;    // the type of rows whose attributes are slots at `offsets`, if any
    Py_ssize_t offsets[MAX_ATTRIBUTES];
    NumberSlots* slots;
    int searches;  // searches under way: no change is allowed
};

inline Index* index_of(PyObject* self) { return reinterpret_cast<Index*>(self); }

inline PyTypeObject* table_type = nullptr;

inline bool hash_of(PyObject* key, std::uint32_t* hash) {
    const Py_hash_t wide = PyObject_Hash(key);
    if (wide == -1) return false;
    *hash = static_cast<std::uint32_t>((static_cast<std::uint64_t>(wide) * 0x9E3779B97F4A7C15) >> 32);
    return true;
}

// Note the offsets of the attributes in rows of a type, if all of them are slots.
inline void learn(Index* index, PyTypeObject* row_type) {
    Py_CLEAR(index->known);
    for (Py_ssize_t i = 0; i < index->width; ++i) {
        PyObject* found = PyObject_GetAttr(reinterpret_cast<PyObject*>(row_type), index->names[i]);
        if (!found) return PyErr_Clear();
        const bool is_member = Py_IS_TYPE(found, &PyMemberDescr_Type);
        const PyMemberDef* member = is_member ? reinterpret_cast<PyMemberDescrObject*>(found)->d_member : nullptr;
        const bool is_slot = member && member->type == T_OBJECT_EX;
        if (is_slot) index->offsets[i] = member->offset;
        Py_DECREF(found);
        if (!is_slot) return;
    }
    index->known = reinterpret_cast<PyTypeObject*>(Py_NewRef(reinterpret_cast<PyObject*>(row_type)));
}

// Return a new reference to an attribute of a row.
inline PyObject* attribute(Index* index, PyObject* row, Py_ssize_t i) {
    if (Py_TYPE(row) == index->known) {
        PyObject* value = *reinterpret_cast<PyObject**>(reinterpret_cast<char*>(row) + index->offsets[i]);
        if (value) return Py_NewRef(value);
    }
    return PyObject_GetAttr(row, index->names[i]);
}

// Return whether the row of a number has a key; -1 with an error set.
inline int matches(Index* index, Py_ssize_t number, PyObject* key) {
    PyObject* row = held(table_of(index->rows), number);
    if (!row || (index->width > 1 && (!PyTuple_Check(key) || PyTuple_GET_SIZE(key) != index->width))) return 0;
    Py_INCREF(row);
    if (Py_TYPE(row) != index->known) learn(index, Py_TYPE(row));
    int same = 1;
    for (Py_ssize_t i = 0; same == 1 && i < index->width; ++i) {
        PyObject* value = attribute(index, row, i);
        PyObject* wanted = index->width > 1 ? PyTuple_GET_ITEM(key, i) : key;
        same = !value ? -1 : value == wanted ? 1 : PyObject_RichCompareBool(value, wanted, Py_EQ);
        Py_XDECREF(value);
    }
    Py_DECREF(row);
    return same;
}

// The number of a row with a key; -1 if there is none, -2 with an error set.
inline Py_ssize_t find(Index* index, PyObject* key, std::uint32_t hash) {
    Py_ssize_t found = -1;
    ++index->searches;
    index->slots->any(hash, [&](std::uint32_t number) {
        const int same = matches(index, number, key);
        if (same) found = same < 0 ? -2 : static_cast<Py_ssize_t>(number);
        return same != 0;
    });
    --index->searches;
    return found;
}

inline bool changeable(const Index* index) {
    if (!index->searches) return true;
    PyErr_SetString(PyExc_RuntimeError, "the index was changed by the comparison of a key");
    return false;
}

inline bool insert(Index* index, std::uint32_t hash, Py_ssize_t number) {
    try {
        index->slots->add(hash, static_cast<std::uint32_t>(number));
        return true;
    } catch (const std::bad_alloc&) {
        PyErr_NoMemory();
        return false;
    }
}

// The number of a row to insert; -1 with an error set.
inline Py_ssize_t given_number(PyObject* given) {
    const Py_ssize_t number = number_of(given);
    if (number >= 0 && number < MAX_NUMBER) return number;
    if (number != -2) PyErr_Format(PyExc_OverflowError, "the number %S of a row is not from 0 to 2**32 - 2", given);
    return -1;
}

inline PyObject* subscript(PyObject* self, PyObject* key) {
    std::uint32_t hash;
    if (!hash_of(key, &hash)) return nullptr;
    const Py_ssize_t number = find(index_of(self), key, hash);
    return number >= 0 ? PyLong_FromSsize_t(number) : number == -1 ? missing(key) : nullptr;
}

inline int assign(PyObject* self, PyObject* key, PyObject* value) {
    Index* index = index_of(self);
    std::uint32_t hash;
    Py_ssize_t number = -1;
    if (!hash_of(key, &hash) || !changeable(index)) return -1;
    if (value) {
        if ((number = given_number(value)) < 0) return -1;
        const int same = matches(index, number, key);
        if (same == 0) PyErr_Format(PyExc_ValueError, "the row of number %zd does not have the key %R", number, key);
        if (same != 1) return -1;
    }
    const Py_ssize_t before = find(index, key, hash);
    if (before == -2 || !changeable(index)) return -1;
    if (!value && before == -1) return missing(key), -1;
    if (before == number) return 0;
    if (before >= 0) index->slots->remove(hash, static_cast<std::uint32_t>(before));
    return !value || insert(index, hash, number) ? 0 : -1;
}

inline int contains(PyObject* self, PyObject* key) {
    std::uint32_t hash;
    if (!hash_of(key, &hash)) return -1;
    const Py_ssize_t number = find(index_of(self), key, hash);
    return number == -2 ? -1 : number >= 0;
}

inline Py_ssize_t length(PyObject* self) { return static_cast<Py_ssize_t>(index_of(self)->slots->size()); }

inline PyObject* get(PyObject* self, PyObject* const* given, Py_ssize_t count) {
    std::uint32_t hash;
    if (count < 1 || count > 2) {
        PyErr_SetString(PyExc_TypeError, "get takes a key and a default");
        return nullptr;
    }
    if (!hash_of(given[0], &hash)) return nullptr;
    const Py_ssize_t number = find(index_of(self), given[0], hash);
    if (number >= 0) return PyLong_FromSsize_t(number);
    return number == -1 ? Py_NewRef(count == 2 ? given[1] : Py_None) : nullptr;
}

// The row of a key: a new reference, `none` if there is none.
inline PyObject* row_of(PyObject* self, PyObject* key, PyObject* (*none)(PyObject*)) {
    Index* index = index_of(self);
    std::uint32_t hash;
    if (!hash_of(key, &hash)) return nullptr;
    const Py_ssize_t number = find(index, key, hash);
    PyObject* row = held(table_of(index->rows), number);
    return row ? Py_NewRef(row) : number == -2 ? nullptr : none(key);
}

inline PyObject* row(PyObject* self, PyObject* key) { return row_of(self, key, missing); }

inline PyObject* find_row(PyObject* self, PyObject* key) {
    return row_of(self, key, [](PyObject*) { return Py_NewRef(Py_None); });
}

inline PyObject* pop(PyObject* self, PyObject* const* given, Py_ssize_t count) {
    Index* index = index_of(self);
    std::uint32_t hash;
    if (count < 1 || count > 2) {
        PyErr_SetString(PyExc_TypeError, "pop takes a key and a default");
        return nullptr;
    }
    if (!hash_of(given[0], &hash)) return nullptr;
    const Py_ssize_t number = find(index, given[0], hash);
    if (number == -2) return nullptr;
    if (number == -1) return count == 2 ? Py_NewRef(given[1]) : missing(given[0]);
    if (!changeable(index)) return nullptr;
    index->slots->remove(hash, static_cast<std::uint32_t>(number));
    return PyLong_FromSsize_t(number);
}

// Append the numbers of a list to which `visit` is passed.
template <typename Collect>
PyObject* listed(Collect collect) {
    PyObject* found = PyList_New(0);
    bool failed = !found;
    if (found) {
        collect([&](std::uint32_t number) {
            PyObject* made = failed ? nullptr : PyLong_FromUnsignedLong(number);
            failed = failed || !made || PyList_Append(found, made) < 0;
            Py_XDECREF(made);
        });
    }
    if (failed || PyList_Sort(found) < 0) Py_CLEAR(found);
    return found;
}

inline PyObject* numbers(PyObject* self, PyObject*) {
    return listed([&](auto append) { index_of(self)->slots->each(append); });
}

inline PyObject* numbers_of(PyObject* self, PyObject* key) {
    Index* index = index_of(self);
    std::uint32_t hash;
    if (!hash_of(key, &hash)) return nullptr;
    bool failed = false;
    PyObject* found = listed([&](auto append) {
        ++index->searches;
        index->slots->any(hash, [&](std::uint32_t number) {
            const int same = matches(index, number, key);
            if (same == 1) append(number);
            return failed = same < 0;
        });
        --index->searches;
    });
    if (failed) Py_CLEAR(found);
    return found;
}

// Both take a key and a number.
inline PyObject* change(PyObject* self, PyObject* const* given, Py_ssize_t count, bool adds) {
    Index* index = index_of(self);
    std::uint32_t hash;
    if (count != 2) {
        PyErr_SetString(PyExc_TypeError, "expected a key and a number");
        return nullptr;
    }
    const Py_ssize_t number = given_number(given[1]);
    if (number < 0 || !hash_of(given[0], &hash) || !changeable(index)) return nullptr;
    if (adds && !insert(index, hash, number)) return nullptr;
    if (!adds && !index->slots->remove(hash, static_cast<std::uint32_t>(number))) return missing(given[0]);
    Py_RETURN_NONE;
}

inline PyObject* add(PyObject* self, PyObject* const* given, Py_ssize_t count) {
    return change(self, given, count, true);
}

inline PyObject* remove(PyObject* self, PyObject* const* given, Py_ssize_t count) {
    return change(self, given, count, false);
}

inline PyObject* clear(PyObject* self, PyObject*) {
    if (!changeable(index_of(self))) return nullptr;
    *index_of(self)->slots = NumberSlots();
    Py_RETURN_NONE;
}

inline PyObject* size_of(PyObject* self, PyObject*) {
    const auto outside = sizeof(NumberSlots) + index_of(self)->slots->bytes();
    return PyLong_FromSsize_t(Py_TYPE(self)->tp_basicsize + static_cast<Py_ssize_t>(outside));
}

inline PyObject* create(PyTypeObject* kind, PyObject* given, PyObject* named) {
    const Py_ssize_t width = PyTuple_GET_SIZE(given) - 1;
    if ((named && PyDict_GET_SIZE(named)) || width < 1 || width > MAX_ATTRIBUTES ||
        !PyObject_TypeCheck(PyTuple_GET_ITEM(given, 0), table_type)) {
        PyErr_SetString(PyExc_TypeError, "an index takes a table and one to three names of attributes");
        return nullptr;
    }
    for (Py_ssize_t i = 1; i <= width; ++i) {
        if (PyUnicode_Check(PyTuple_GET_ITEM(given, i))) continue;
        PyErr_SetString(PyExc_TypeError, "the name of an attribute is a string");
        return nullptr;
    }
    PyObject* self = kind->tp_alloc(kind, 0);
    if (!self) return nullptr;
    Index* index = index_of(self);
    index->rows = Py_NewRef(PyTuple_GET_ITEM(given, 0));
    index->width = width;
    for (Py_ssize_t i = 0; i < width; ++i) {
        index->names[i] = Py_NewRef(PyTuple_GET_ITEM(given, i + 1));
        PyUnicode_InternInPlace(&index->names[i]);
    }
    index->slots = new (std::nothrow) NumberSlots();
    if (index->slots) return self;
    Py_DECREF(self);
    return PyErr_NoMemory();
}

inline int traverse(PyObject* self, visitproc visit, void* arg) {
    Py_VISIT(index_of(self)->rows);
    Py_VISIT(index_of(self)->known);
    return 0;
}

inline void deallocate(PyObject* self) {
    PyObject_GC_UnTrack(self);
    Index* index = index_of(self);
    Py_CLEAR(index->rows);
    Py_CLEAR(index->known);
    for (PyObject*& name : index->names) Py_CLEAR(name);
    delete index->slots;
    Py_TYPE(self)->tp_free(self);
}

template <typename Call>
PyCFunction method(Call call) {
    return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(call));
}

inline PyMethodDef methods[] = {
    {"get", method(get), METH_FASTCALL, nullptr},
    {"pop", method(pop), METH_FASTCALL, nullptr},
    {"row", row, METH_O, nullptr},
    {"find", find_row, METH_O, nullptr},
    {"add", method(add), METH_FASTCALL, nullptr},
    {"remove", method(remove), METH_FASTCALL, nullptr},
    {"clear", clear, METH_NOARGS, nullptr},
    {"numbers", numbers, METH_NOARGS, nullptr},
    {"numbers_of", numbers_of, METH_O, nullptr},
    {"__class_getitem__", Py_GenericAlias, METH_O | METH_CLASS, nullptr},
    {"__sizeof__", size_of, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

inline PyMappingMethods mapping = {length, subscript, assign};
inline PySequenceMethods sequence = {};
inline PyTypeObject type = {PyVarObject_HEAD_INIT(nullptr, 0)};

inline bool add_type(PyObject* module, PyTypeObject* rows) {
    table_type = rows;
    sequence.sq_contains = contains;
    type.tp_name = "graphtide.graph._tables.Index";
    type.tp_basicsize = sizeof(Index);
    type.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC;
    type.tp_new = create;
    type.tp_dealloc = deallocate;
    type.tp_traverse = traverse;
    type.tp_as_mapping = &mapping;
    type.tp_as_sequence = &sequence;
    type.tp_methods = methods;
    return PyType_Ready(&type) >= 0 && PyModule_AddObjectRef(module, "Index", reinterpret_cast<PyObject*>(&type)) >= 0;
}

}  // namespace key_index
}  // namespace
