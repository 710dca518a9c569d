// A set of small ints in a hash table of 32-bit numbers: 5 to 6 bytes a member, where a `set` takes 40 to 100.
//
// It is a type of its own and no pybind11 class, because a look-up must cost what that of a `set` costs.

#define PY_SSIZE_T_CLEAN
#include <Python.h>

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
    Number slot;
};

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
    made->slot = 0;
    return reinterpret_cast<PyObject*>(made);
}

PyObject* following(PyObject* self) {
    auto* at = reinterpret_cast<Iterator*>(self);
    if (at->count != at->set->count) {
        PyErr_SetString(PyExc_RuntimeError, "the set changed size during iteration");
        return nullptr;
    }
    while (at->slot < at->set->capacity) {
        const Number number = at->set->slots[at->slot++].key;
        if (number != FREE) return PyLong_FromUnsignedLong(number);
    }
    return nullptr;
}

void release(PyObject* self) {
    Py_DECREF(reinterpret_cast<Iterator*>(self)->set);
    PyObject_Free(self);
}

PyMethodDef methods[] = {
    {"add", add, METH_O, nullptr},
    {"discard", discard, METH_O, nullptr},
    {"__sizeof__", size_of, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

PySequenceMethods sequence = {};
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
    if (PyType_Ready(&set_type) < 0 || PyType_Ready(&iterator_type) < 0) return nullptr;
    PyObject* made = PyModule_Create(&module);
    if (made && PyModule_AddObjectRef(made, "NumberSet", reinterpret_cast<PyObject*>(&set_type)) < 0) Py_CLEAR(made);
    return made;
}
