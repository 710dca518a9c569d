// Sets of small ints as 32-bit numbers: an ascending array for a few that do not change, 24 bytes and 4 a member, where
// a tuple takes 56 and 8; a hash table for many, 5 to 6 bytes a member, where a `set` takes 40 to 100.
//
// They are types of their own and no pybind11 classes, because a look-up must cost what that of a `set` costs.

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <algorithm>
#include <cstddef>
#include <initializer_list>

#include "packed/slots.hpp"

namespace {

using packed::FREE;
using packed::Number;

struct Member {
    Number key;
};

struct Set {
    PyObject_HEAD
    Member* slots;
    Number count;
    Number capacity;
};

struct Iterator {
    PyObject_HEAD
    Set* set;
    Number count;
    packed::Walk walk;
};

struct Few {
    PyObject_VAR_HEAD
    Number members[1];
};

struct FewIterator {
    PyObject_HEAD
    Few* few;
    Py_ssize_t place;
};

PyTypeObject few_type = {PyVarObject_HEAD_INIT(nullptr, 0)};
PyTypeObject few_iterator_type = {PyVarObject_HEAD_INIT(nullptr, 0)};
PyTypeObject set_type = {PyVarObject_HEAD_INIT(nullptr, 0)};
PyTypeObject iterator_type = {PyVarObject_HEAD_INIT(nullptr, 0)};

Set* set_of(PyObject* self) { return reinterpret_cast<Set*>(self); }

enum class Kind { member, other, error };

// Whether an object is a number that the set may have; another type than int is an error.
Kind kind_of(PyObject* object, Number& number) {
    const Py_ssize_t value = PyNumber_AsSsize_t(object, nullptr);  // the nearest one for an int outside of the range
    if (value == -1 && PyErr_Occurred()) return Kind::error;
    if (value < 0 || value >= static_cast<Py_ssize_t>(FREE)) return Kind::other;
    number = static_cast<Number>(value);
    return Kind::member;
}

// Move the members, but that in the slot `but`, to so many slots.
bool resize(Set* set, Number capacity, Number but) {
    auto* slots = static_cast<Member*>(PyMem_Malloc(capacity * sizeof(Member)));
    if (!slots) {
        PyErr_NoMemory();
        return false;
    }
    packed::move_all(set->slots, set->capacity, but, slots, capacity);
    PyMem_Free(set->slots);
    set->slots = slots;
    set->capacity = capacity;
    return true;
}

bool insert(Set* set, Number number) {
    if (packed::find(set->slots, set->capacity, number) != set->capacity) return true;
    if (!packed::fits(set->count + 1, set->capacity)) {
        if (set->count == packed::MOST) {
            PyErr_SetString(PyExc_OverflowError, "the set has too many members");
            return false;
        }
        if (!resize(set, packed::capacity_of(set->count + 1), set->capacity)) return false;
    }
    packed::place(set->slots, set->capacity, Member{number});
    ++set->count;
    return true;
}

bool remove(Set* set, Number number) {
    const Number slot = packed::find(set->slots, set->capacity, number);
    if (slot == set->capacity) return true;
    const Number left = set->count - 1;
    if (!packed::sparse(left, set->capacity)) {
        packed::vacate(set->slots, set->capacity, slot);
    } else if (!resize(set, packed::capacity_of(left), slot)) {
        return false;
    }
    set->count = left;
    return true;
}

PyObject* add(PyObject* self, PyObject* member) {
    Number number;
    switch (kind_of(member, number)) {
        case Kind::error:
            return nullptr;
        case Kind::other:
            return PyErr_Format(PyExc_OverflowError, "the member %S is not from 0 to 2**32 - 2", member);
        case Kind::member:
            break;
    }
    if (!insert(set_of(self), number)) return nullptr;
    Py_RETURN_NONE;
}

PyObject* discard(PyObject* self, PyObject* member) {
    Number number;
    const Kind kind = kind_of(member, number);
    if (kind == Kind::error || (kind == Kind::member && !remove(set_of(self), number))) return nullptr;
    Py_RETURN_NONE;
}

int contains(PyObject* self, PyObject* member) {
    Number number;
    const Kind kind = kind_of(member, number);
    if (kind == Kind::error) return -1;
    const Set* set = set_of(self);
    return kind == Kind::member && packed::find(set->slots, set->capacity, number) != set->capacity;
}

Py_ssize_t length(PyObject* self) { return set_of(self)->count; }

PyObject* size_of(PyObject* self, PyObject*) {
    const auto slots = static_cast<Py_ssize_t>(set_of(self)->capacity * sizeof(Member));
    return PyLong_FromSsize_t(Py_TYPE(self)->tp_basicsize + slots);
}

void deallocate(PyObject* self) {
    PyMem_Free(set_of(self)->slots);
    Py_TYPE(self)->tp_free(self);
}

PyObject* iterate(PyObject* self) {
    Iterator* made = PyObject_New(Iterator, &iterator_type);
    if (!made) return nullptr;
    made->set = reinterpret_cast<Set*>(Py_NewRef(self));
    made->count = set_of(self)->count;
    made->walk = packed::Walk(set_of(self)->capacity);
    return reinterpret_cast<PyObject*>(made);
}

PyObject* following(PyObject* self) {
    auto* at = reinterpret_cast<Iterator*>(self);
    if (at->count != at->set->count || at->walk.capacity() != at->set->capacity) {
        PyErr_SetString(PyExc_RuntimeError, "the set changed size during iteration");
        return nullptr;
    }
    while (!at->walk.ended()) {
        const Number number = at->set->slots[at->walk.next()].key;
        if (number != FREE) return PyLong_FromUnsignedLong(number);
    }
    return nullptr;
}

void release(PyObject* self) {
    Py_DECREF(reinterpret_cast<Iterator*>(self)->set);
    PyObject_Free(self);
}

// -- a few ------------------------------------------------------------------------------------------------------------

Few* few_of(PyObject* self) { return reinterpret_cast<Few*>(self); }

PyObject* new_few(PyTypeObject* type, PyObject* arguments, PyObject*) {
    PyObject* given;
    if (!PyArg_ParseTuple(arguments, "O!", &PyTuple_Type, &given)) return nullptr;
    const Py_ssize_t count = PyTuple_GET_SIZE(given);
    Few* few = PyObject_NewVar(Few, type, count);
    if (!few) return nullptr;
    auto* made = reinterpret_cast<PyObject*>(few);
    Number* members = few->members;
    for (Py_ssize_t place = 0; place < count; ++place) {
        PyObject* member = PyTuple_GET_ITEM(given, place);
        const Kind kind = kind_of(member, members[place]);
        if (kind == Kind::member) continue;
        if (kind == Kind::other) PyErr_Format(PyExc_OverflowError, "the member %S is not from 0 to 2**32 - 2", member);
        Py_DECREF(made);
        return nullptr;
    }
    std::sort(members, members + count);
    return made;
}

int few_contains(PyObject* self, PyObject* member) {
    Number number;
    const Kind kind = kind_of(member, number);
    if (kind == Kind::error) return -1;
    const Number* members = few_of(self)->members;
    return kind == Kind::member && std::binary_search(members, members + Py_SIZE(self), number);
}

Py_ssize_t few_length(PyObject* self) { return Py_SIZE(self); }

PyObject* few_iterate(PyObject* self) {
    FewIterator* made = PyObject_New(FewIterator, &few_iterator_type);
    if (!made) return nullptr;
    made->few = few_of(Py_NewRef(self));
    made->place = 0;
    return reinterpret_cast<PyObject*>(made);
}

PyObject* few_following(PyObject* self) {
    auto* at = reinterpret_cast<FewIterator*>(self);
    return at->place < Py_SIZE(at->few) ? PyLong_FromUnsignedLong(at->few->members[at->place++]) : nullptr;
}

void few_release(PyObject* self) {
    Py_DECREF(reinterpret_cast<FewIterator*>(self)->few);
    PyObject_Free(self);
}

PyMethodDef methods[] = {
    {"add", add, METH_O, nullptr},
    {"discard", discard, METH_O, nullptr},
    {"__sizeof__", size_of, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

PySequenceMethods sequence = {}, few_sequence = {};
PyModuleDef module = {PyModuleDef_HEAD_INIT, "_int_sets", nullptr, -1, nullptr, nullptr, nullptr, nullptr, nullptr};

}  // namespace

PyMODINIT_FUNC PyInit__int_sets() {
    sequence.sq_length = length;
    sequence.sq_contains = contains;
    set_type.tp_name = "graphtide.graph._int_sets.NumberSet";
    set_type.tp_basicsize = sizeof(Set);
    set_type.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE;
    set_type.tp_new = PyType_GenericNew;
    set_type.tp_dealloc = deallocate;
    set_type.tp_iter = iterate;
    set_type.tp_as_sequence = &sequence;
    set_type.tp_methods = methods;
    iterator_type.tp_name = "graphtide.graph._int_sets.Iterator";
    iterator_type.tp_basicsize = sizeof(Iterator);
    iterator_type.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION;
    iterator_type.tp_dealloc = release;
    iterator_type.tp_iter = PyObject_SelfIter;
    iterator_type.tp_iternext = following;
    few_sequence.sq_length = few_length;
    few_sequence.sq_contains = few_contains;
    few_type.tp_name = "graphtide.graph._int_sets.FewNumbers";
    few_type.tp_basicsize = offsetof(Few, members);
    few_type.tp_itemsize = sizeof(Number);
    few_type.tp_flags = Py_TPFLAGS_DEFAULT;
    few_type.tp_new = new_few;
    few_type.tp_iter = few_iterate;
    few_type.tp_as_sequence = &few_sequence;
    few_iterator_type.tp_name = "graphtide.graph._int_sets.FewIterator";
    few_iterator_type.tp_basicsize = sizeof(FewIterator);
    few_iterator_type.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION;
    few_iterator_type.tp_dealloc = few_release;
    few_iterator_type.tp_iter = PyObject_SelfIter;
    few_iterator_type.tp_iternext = few_following;
    for (PyTypeObject* type : {&set_type, &iterator_type, &few_type, &few_iterator_type})
        if (PyType_Ready(type) < 0) return nullptr;
    PyObject* made = PyModule_Create(&module);
    for (PyTypeObject* type : {&set_type, &few_type})
        if (made && PyModule_AddType(made, type) < 0) Py_CLEAR(made);
    return made;
}
